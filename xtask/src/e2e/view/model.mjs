// A provider on this machine whose answers are a script: the conversation so far decides the next one.
// Prints its port, and serves until it is ended. While the file HOLD is there, no conversation gets its third answer.
// Usage: node model.mjs HOLD
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';

const pause = (millis) => new Promise((done) => setTimeout(done, millis));
const text = (content) => ({ content });
const calls = (...wanted) => ({
  content: wanted.find((call) => typeof call === 'string') ?? null,
  tool_calls: wanted
    .filter((call) => typeof call !== 'string')
    .map(([name, args], place) => ({
      id: `call_${place}_${Math.random().toString(36).slice(2, 8)}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    })),
});

const LS = 'rye_file_system_ls';
const READ = 'rye_file_system_read';
const GREP = 'rye_file_system_grep';
const EDIT = 'rye_file_system_edit';
const WRITE = 'rye_file_system_write';
const BASH = 'rye_bash_bash';
const SPAWN = 'rye_agent_threads_thread_directive';
const RETURN = 'rye_agent_threads_directive_return';

const prepare = (turn) => [
  () => calls('I start with the current version and the unreleased part of the changelog.', [READ, { path: 'Cargo.toml' }], [READ, { path: 'CHANGELOG.md' }], [GREP, { pattern: '^version', path: '.' }]),
  () => calls([SPAWN, { directive: 'release/api-diff' }], [SPAWN, { directive: 'release/notes' }]),
  () => calls('Now the tests.', [BASH, { command: 'for n in $(seq 1 60); do echo "test ledger::case_$n ... ok"; done; sleep 0.4; echo "test result: ok. 60 passed; 0 failed"', timeout_seconds: 300 }]),
  () => calls([READ, { path: 'missing.toml' }], [SPAWN, { directive: 'deploy/staging' }]),
  () => calls('The API check reports three added items and no removal, so `2.4.0` is right. I write the changelog entry and set the version.',
    [EDIT, { path: 'CHANGELOG.md', edits: [{ old: '## Unreleased\n', new: '## 2.4.0 (2026-11-22)\n' }, { old: '- `Ledger::close`\n', new: '- `Ledger::close`\n- `Ledger::open`, which was missing\n' }] }],
    [EDIT, { path: 'Cargo.toml', edits: [{ old: '2.3.2', new: '2.4.0' }] }]),
  () => calls([WRITE, { path: 'RELEASE.md', content: '# 2.4.0\n\nRefunds can be partial.\n' }]),
  () => calls('All of it is written. The release is ready.', [RETURN, { version: '2.4.0', change: 'minor' }]),
][turn];

// The release before, which differs from its successor from the second turn on.
const patch = (turn) => [
  () => calls('I start with the current version and the unreleased part of the changelog.', [READ, { path: 'Cargo.toml' }], [READ, { path: 'CHANGELOG.md' }], [GREP, { pattern: '^version', path: '.' }]),
  () => calls([SPAWN, { directive: 'release/notes' }]),
  () => calls('Now the tests.', [BASH, { command: 'echo "test result: ok. 58 passed; 0 failed"', timeout_seconds: 300 }]),
  () => calls('It only mends, so `2.3.3` is right.', [EDIT, { path: 'Cargo.toml', edits: [{ old: '2.3.2', new: '2.3.3' }] }]),
  () => calls([EDIT, { path: 'Cargo.toml', edits: [{ old: '2.3.3', new: '2.3.2' }] }]),
  () => calls('The version stays until the release is published.', [RETURN, { version: '2.3.3', change: 'patch' }]),
][turn];

const child = (turn) => [() => calls([LS, { path: '.' }]), () => text('Three items were added, and none was removed.')][turn];

const hostile = (turn, limit) => turn < limit
  ? () => calls(`</script><img src=x onerror=alert(${turn})> \u202Eturned\u202C \u001b[31mred\u001b[0m <svg onload=alert(1)>`, [READ, { path: `hostile/${turn}.txt` }])
  : () => text(`</template></textarea><!-- </title> <script>parent.hacked = 1</script>`);

// More turns than one page shows.
const LONG = 500;
const long = (turn) => turn < LONG
  ? () => calls([READ, { path: turn === 17 ? 'CHANGELOG.md' : 'Cargo.toml' }])
  : () => text('The file did not change.');

// A line of 20 MB.
const endless = () => text('<b>'.repeat(20 * 1024 * 1024 / 3));

const script = (first, turn) => {
  if (first.includes('named endless')) return endless;
  if (first.includes('named long')) return long(turn);
  if (first.includes('hostile')) return hostile(turn, 5);
  if (first.includes('name="prepare"')) return first.includes('2.3.3') ? patch(turn) : prepare(turn);
  return child(turn);
};

let refused = false;
const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  const asked = JSON.parse(body);
  const first = JSON.stringify(asked.messages.find((message) => message.role === 'user').content);
  const turn = asked.messages.filter((message) => message.role === 'assistant').length;
  if (turn === 3 && first.includes('prepare') && !first.includes('2.3.3') && !refused) {
    refused = true;
    response.writeHead(529, { 'content-type': 'application/json', 'retry-after': '1' });
    response.end(JSON.stringify({ error: { message: 'overloaded', type: 'overloaded' } }));
    return;
  }
  while (turn === 2 && existsSync(process.argv[2])) await pause(20);
  await pause(first.includes('named long') ? 2 : 250 + 150 * (turn % 4));
  const message = { role: 'assistant', ...(script(first.replaceAll('\\"', '"'), turn) ?? (() => text('Done.')))() };
  const prompt_tokens = Math.round(body.length / 4);
  const completion_tokens = Math.min(4000, Math.max(20, Math.round(JSON.stringify(message).length / 4)));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({
    id: '1', object: 'chat.completion', created: 0, model: asked.model,
    choices: [{ index: 0, message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  }));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
