// Making elements. Every text becomes a text node: nothing is ever read as markup.

/** Make an element; `on…` attributes are listeners, false and undefined are left out. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

/** Give the element of the page with this id. */
export const byId = (id) => document.getElementById(id);

/** Set a text only where it differs: screen readers and layout see real changes only. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Make a function that runs `work` once in the next frame, however often it is called. */
export function oncePerFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A hidden page has no frames; the timer keeps it from falling behind.
    const run = () => {
      if (asked) {
        asked = false;
        work();
      }
    };
    requestAnimationFrame(run);
    if (document.hidden) setTimeout(run, 200);
  };
}

/** Say something to screen readers, without moving anybody. */
export function announce(text) {
  const node = byId("announce");
  node.textContent = "";
  setTimeout(() => (node.textContent = text), 50);
}
