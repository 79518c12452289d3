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

  const records = all('.conv .rec');
  const turns = all('.conv section.turn');
  if (!records.length) return;

  // A link to a record that is folded away, or is the result of another, opens what it is in.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
    const number = /^#[pr](\d+)$/.exec(location.hash);
    for (const record of all('.rec.sel')) record.classList.remove('sel');
    const record = number && document.getElementById('r' + number[1]);
    if (record) record.closest('.rec')?.classList.add('sel');
  };
  addEventListener('hashchange', reveal);
  reveal();

  // Search: records without the text are hidden, and the rest counted.
  const field = one('#find');
  const found = one('#found');
  if (field) {
    const total = found.textContent;
    const texts = new Map();
    const text = (record) => {
      if (!texts.has(record)) texts.set(record, record.textContent.toLowerCase());
      return texts.get(record);
    };
    let pending = 0;
    const search = () => {
      const words = field.value.trim().toLowerCase();
      let count = 0;
      for (const record of records) {
        record.hidden = words !== '' && !text(record).includes(words);
        if (!record.hidden) count += 1;
      }
      for (const turn of turns) turn.hidden = words !== '' && !turn.querySelector('.rec:not([hidden])');
      found.textContent = words === '' ? total : count + (count === 1 ? ' record found' : ' records found');
    };
    field.hidden = false;
    field.addEventListener('input', () => { clearTimeout(pending); pending = setTimeout(search, 120); });
    field.form.addEventListener('submit', (event) => { event.preventDefault(); search(); });
  }
  for (const keys of all('.keys')) keys.hidden = false;

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
