'use strict';
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);

  // The choice of colours is remembered where the browser lets a page remember anything.
  for (const choice of all('[name=cs]')) {
    try {
      choice.checked = choice.value === (localStorage.getItem('rye-colours') || 'auto');
      choice.addEventListener('change', () => localStorage.setItem('rye-colours', choice.value));
    } catch {}
  }

  let records = all('.conv .rec');
  let turns = all('.conv section.turn');
  if (!records.length) return;

  // The page of a long thread holds a part of it; the server knows which one holds a record.
  const otherPart = () => {
    const number = /^#[pr](\d+)$/.exec(location.hash);
    const asked = number && '?record=' + number[1];
    if (one('#parts') && asked && asked !== location.search) location.search = asked;
  };

  // A link to a record that is folded away, or is the result of another, opens what it is in.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return otherPart();
    for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
    const number = /^#((?:c\d+-)?)[pr](\d+)$/.exec(location.hash);
    for (const record of all('.rec.sel')) record.classList.remove('sel');
    const record = number && document.getElementById(number[1] + 'r' + number[2]);
    if (record) record.closest('.rec')?.classList.add('sel');
  };
  addEventListener('hashchange', reveal);
  reveal();

  // Search: records without the text are hidden, and the rest counted.
  const field = one('#find');
  const found = one('#found');
  let search = () => {};
  if (field) {
    // The page of a thread that runs may become one of several.
    const isPart = () => one('#parts') !== null && !one('#parts').hidden;
    const total = () => {
      const count = Number(found.dataset.records);
      return count.toLocaleString('en') + (count === 1 ? ' record' : ' records');
    };
    const texts = new Map();
    const text = (record) => {
      if (!texts.has(record)) texts.set(record, record.textContent.toLowerCase());
      return texts.get(record);
    };
    let pending = 0;
    search = () => {
      const words = field.value.trim().toLowerCase();
      let count = 0;
      for (const record of records) {
        record.hidden = words !== '' && !text(record).includes(words);
        if (!record.hidden) count += 1;
      }
      for (const turn of turns) turn.hidden = words !== '' && !turn.querySelector('.rec:not([hidden])');
      const where = isPart() ? ' on this page; Enter searches the whole thread' : '';
      found.textContent = words === '' ? total() : count + (count === 1 ? ' record found' : ' records found') + where;
    };
    field.hidden = false;
    field.addEventListener('input', () => { clearTimeout(pending); pending = setTimeout(search, 120); });
    // The server searches what this page does not show.
    field.form.addEventListener('submit', (event) => { if (!isPart()) { event.preventDefault(); search(); } });
  }
  const showKeys = () => { for (const keys of all('.keys')) keys.hidden = false; };
  showKeys();

  // A running thread: the server sends the parts of the page that changed.
  const live = one('#live');
  if (live && window.EventSource) {
    const events = new EventSource(live.dataset.events);
    let count = Number(found.dataset.records);
    const say = (text, isLost) => {
      live.textContent = text;
      live.classList.toggle('lost', isLost);
    };
    say('This page follows the thread.', false);
    const put = ([id, parent, markup]) => {
      const made = new DOMParser().parseFromString(markup, 'text/html').body.firstElementChild;
      const old = document.getElementById(id);
      const open = old ? all('details', old).map((details) => details.open) : [];
      all('details', made).forEach((details, place) => { if (open[place] !== undefined) details.open = open[place]; });
      if (old) old.replaceWith(document.adoptNode(made));
      else document.getElementById(parent)?.append(document.adoptNode(made));
    };
    events.addEventListener('update', (event) => {
      const change = JSON.parse(event.data);
      const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 48;
      const focused = document.activeElement && document.activeElement.id;
      change.parts.forEach(put);
      // What moved to an earlier part leaves the page, so that it stays short.
      for (const turn of all('.conv section.turn')) if (!change.turns.includes(turn.id)) turn.remove();
      for (const line of all('.panel .one')) if (Number(line.id.slice(1)) < change.first) line.remove();
      if (found) found.dataset.records = change.records;
      records = all('.conv .rec');
      turns = all('.conv section.turn');
      showKeys();
      search();
      const more = change.records - count;
      count = change.records;
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      if (isAtEnd && more > 0) scrollTo(0, document.documentElement.scrollHeight);
      const news = more > 0 ? more + (more === 1 ? ' new record. ' : ' new records. ') : '';
      say(news + (change.ended ? 'The thread is ' + change.state + '.' : 'This page follows the thread.'), false);
      if (change.ended) events.close();
    });
    events.onerror = () => say('The connection was lost. The page tries again.', true);
  }

  // Keys: j k record, n p turn, e error, w wait, o O fold, / search, t timeline.
  const visible = (items) => items.filter((item) => !item.hidden && !item.closest('[hidden]'));
  const current = (items) => {
    const middle = innerHeight / 3;
    let place = -1;
    items.forEach((item, index) => { if (item.getBoundingClientRect().top <= middle) place = index; });
    return place;
  };
  let chosen = null;
  const go = (items, step) => {
    const list = visible(items);
    const from = chosen && list.includes(chosen) ? list.indexOf(chosen) : current(list);
    const item = list[Math.max(0, Math.min(list.length - 1, from + step))];
    if (!item) return;
    chosen = item;
    if (!item.hasAttribute('tabindex')) item.tabIndex = -1;
    item.scrollIntoView({ block: 'start' });
    item.focus({ preventScroll: true });
  };
  const fold = (list) => {
    const open = list.some((details) => !details.open);
    for (const details of list) details.open = open;
  };
  const keys = {
    j: () => go(records, 1),
    k: () => go(records, -1),
    n: () => go(turns, 1),
    p: () => go(turns, -1),
    e: () => go(records.filter((record) => record.classList.contains('bad')), 1),
    w: () => go(records.filter((record) => record.getAttribute('aria-label').endsWith('approval')), 1),
    o: () => chosen && fold(all('details', chosen)),
    O: () => fold(all('.conv .rec details:not(.rest)')),
    t: () => one('.fl a')?.focus(),
    '/': () => field && field.focus(),
  };
  addEventListener('keydown', (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, select, textarea')) return;
    event.preventDefault();
    action();
  });

  // Arrows move between the spans of the timeline.
  const spans = all('.fl a');
  for (const [place, span] of spans.entries()) {
    span.addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      spans[place + step]?.focus();
    });
  }
})();
