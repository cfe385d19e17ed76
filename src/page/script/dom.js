// Elements and words. What the page does is to show and hide what is in its data: everything that is computed from
// configuration was computed by krm. Texts of users become text nodes, never markup.
const root = document.documentElement;
/** @returns {any} */
const $ = (selector, within = document) => within.querySelector(selector);
/**
 * Makes an element. Props that are functions are listeners; others are attributes.
 * @returns {any}
 */
const h = (tag, props, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (key === 'class') element.className = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
};
const sr = (text) => h('span', { class: 'sr' }, text);
/** A sentence of krm, with what it quotes in backticks as code. */
const prose = (text) => {
  const parts = text.split('`');
  return parts.length % 2 ? parts.map((part, i) => (i % 2 ? h('code', null, part) : part)) : text;
};
const plural = (count, what) => `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
const icon = (d) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  for (const [key, value] of Object.entries({ viewBox: '0 0 20 20', width: '18', height: '18', fill: 'none', stroke: 'currentColor', 'stroke-width': '1.6', 'stroke-linecap': 'round', 'aria-hidden': 'true' })) svg.setAttribute(key, value);
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', d);
  svg.append(path);
  return svg;
};
