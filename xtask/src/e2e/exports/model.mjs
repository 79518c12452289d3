// A provider on this machine that speaks four protocols without streaming: it thinks, reads a file, and is done.
// Prints its port, and serves until it is ended.
import { createServer } from 'node:http';

const READ = 'rye_file_system_read';
const THOUGHT = 'The file comes first.';
const DONE = 'Three items were added, and none was removed.';
const args = { path: 'Cargo.toml' };

/** For each protocol: the number of answers so far, the answer with a call, and the last answer. */
const wires = {
  '/v1/messages': {
    turn: (asked) => asked.messages.filter((message) => message.role === 'assistant').length,
    answer: (content, stop_reason) => ({
      id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted-1', content, stop_reason, stop_sequence: null,
      usage: { input_tokens: 40, output_tokens: 20, cache_read_input_tokens: 10, cache_creation_input_tokens: 5 },
    }),
    call() {
      return this.answer([
        { type: 'thinking', thinking: THOUGHT, signature: 'c2lnbmVk' },
        { type: 'text', text: 'I read it.' },
        { type: 'tool_use', id: 'toolu_1', name: READ, input: args },
      ], 'tool_use');
    },
    done() { return this.answer([{ type: 'text', text: DONE }], 'end_turn'); },
  },
  '/responses': {
    turn: (asked) => asked.input.filter((item) => item.type === 'function_call').length,
    answer: (output) => ({
      id: 'resp_1', object: 'response', created_at: 1, status: 'completed', error: null, incomplete_details: null, model: 'scripted-1', output,
      usage: { input_tokens: 40, input_tokens_details: { cached_tokens: 10 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 5 }, total_tokens: 60 },
    }),
    call() {
      return this.answer([
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: THOUGHT }], encrypted_content: 'c2VjcmV0' },
        { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: READ, arguments: JSON.stringify(args), status: 'completed' },
      ]);
    },
    done() {
      return this.answer([{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: DONE, annotations: [] }] }]);
    },
  },
  gemini: {
    turn: (asked) => asked.contents.filter((content) => content.role === 'model').length,
    answer: (parts) => ({
      candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }], modelVersion: 'scripted-1', responseId: '1',
      usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 15, thoughtsTokenCount: 5, totalTokenCount: 60 },
    }),
    call() { return this.answer([{ text: THOUGHT, thought: true }, { functionCall: { name: READ, args }, thoughtSignature: 'c2lnbmVk' }]); },
    done() { return this.answer([{ text: DONE }]); },
  },
  '/chat/completions': {
    turn: (asked) => asked.messages.filter((message) => message.role === 'assistant').length,
    answer: (message, finish_reason) => ({
      id: '1', object: 'chat.completion', created: 0, model: 'scripted-1',
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
      usage: { prompt_tokens: 40, completion_tokens: 20, total_tokens: 60 },
    }),
    call() {
      const call = { id: 'call_1', type: 'function', function: { name: READ, arguments: JSON.stringify(args) } };
      return this.answer({ content: null, reasoning_content: THOUGHT, tool_calls: [call] }, 'tool_calls');
    },
    done() { return this.answer({ content: DONE }, 'stop'); },
  },
};

const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  const path = request.url.split('?')[0];
  const send = (status, value) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  const name = Object.keys(wires).find((end) => path.endsWith(end)) ?? (path.includes('generateContent') ? 'gemini' : '');
  const wire = path.startsWith('/refused') ? undefined : wires[name];
  if (!wire) return send(400, { error: { message: 'this path is always refused', type: 'invalid_request_error' } });
  send(200, wire.turn(JSON.parse(body)) === 0 ? wire.call() : wire.done());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
