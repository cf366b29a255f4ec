// The table of all instances: search, sort and turn pages, without network. Without this script the sections
// above stay. Text from outside is only ever set as text.
(() => {
  "use strict";
  const PAGE = 50;
  const TONES = { bad: "is-binds", near: "is-near", unknown: "is-unknown", good: "is-slack" };
  const given = JSON.parse(document.getElementById("rows").textContent);
  const box = document.getElementById("fleet");
  const one = (selector) => box.querySelector(selector);
  const [head, body, found] = [one("thead tr"), one("tbody"), one(".found")];
  const [search, state, sort] = [one("#search"), one("#state"), one("#sort")];
  const made = (tag, values, ...inside) => {
    const element = Object.assign(document.createElement(tag), values);
    element.append(...inside);
    return element;
  };
  const count = (number) => number.toLocaleString("en-US");

  // The same texts as everywhere in a report.
  const duration = (seconds) => {
    if (seconds < 59.5) return Math.round(seconds) + "\u00a0s";
    const all = Math.round(seconds / 60);
    if (all < 60) return all + "\u00a0min";
    const [hours, minutes] = [Math.floor(all / 60), all % 60];
    if (hours < 48) return hours + "\u00a0h" + (minutes ? "\u00a0" + minutes + "\u00a0min" : "");
    const [days, left] = [Math.floor(hours / 24), hours % 24];
    return days + "\u00a0d" + (left ? "\u00a0" + left + "\u00a0h" : "");
  };
  const ratio = (value) => {
    const percent = value * 100;
    return percent.toFixed(percent > 0 && percent < 9.95 ? 1 : 0) + "\u00a0%";
  };
  const dollars = (value) =>
    value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const FORMS = {
    seconds: duration, ratio, usd: dollars, number: count,
    more: (value) => (value > 0 ? "+" : "") + dollars(value),
  };

  const columns = given.columns;
  for (const column of columns) {
    column.isNumber = column.kind in FORMS;
    column.style = column.isNumber ? "number" : column.kind;
    if (column.words?.some((word) => word.includes(" "))) column.style += " long";
    column.raw = (row) => (column.words ? column.at[row] : column.values[row]);
  }
  const stateOf = columns.find((column) => column.kind === "state");

  // What a column is sorted by: a number for each row; words have their place in the alphabet.
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const keysOf = (column) => {
    if (column.keys) return column.keys;
    if (!column.words) return (column.keys = column.values);
    const order = column.words.map((_, index) => index);
    order.sort((a, b) => collator.compare(column.words[a], column.words[b]) || a - b);
    const place = [];
    order.forEach((word, index) => { place[word] = index; });
    return (column.keys = column.at.map((word) => (word === null ? null : place[word])));
  };

  // All words of a row in lower case; made when somebody searches first.
  let texts = null;
  const textOf = (row) => {
    if (texts === null) {
      const parts = columns.filter((column) => column.words)
        .map((column) => [column.words.map((word) => word.toLowerCase()), column.at]);
      texts = Array.from({ length: given.count }, (_, index) => parts
        .map(([words, at]) => (at[index] === null ? "" : words[at[index]])).join("\n"));
    }
    return texts[row];
  };

  let sorted = Array.from({ length: given.count }, (_, row) => row);
  let shown = sorted;
  let by = null, falls = false, page = 0;

  const order = () => {
    if (by === null) return;
    const keys = keysOf(by);
    const sign = falls ? -1 : 1;
    // What is not known comes last either way; equal rows keep the most urgent first.
    sorted.sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return sign * (x - y) || a - b;
    });
  };
  const select = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = state.value === "" ? null : Number(state.value);
    shown = sorted.filter((row) =>
      (only === null || stateOf.values[row] === only) &&
      (!wanted.length || wanted.every((word) => textOf(row).includes(word))));
  };

  const cell = (column, row) => {
    const value = column.raw(row);
    if (column === columns[0]) return made("th", { scope: "row", textContent: column.words[value] });
    const element = made("td", { className: column.style });
    element.dataset.label = column.title;
    if (value === null) return element;
    if (column.kind === "state") {
      const [words, tone] = given.states[value];
      element.append(made("span", { className: "verdict " + TONES[tone], textContent: words }));
    } else {
      element.textContent = column.words ? column.words[value] : FORMS[column.kind](value);
    }
    return element;
  };
  const draw = () => {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const rows = shown.slice(page * PAGE, (page + 1) * PAGE);
    const visible = columns.filter((column) => column.shown);
    body.replaceChildren(...rows.map((row) => made("tr", {}, ...visible.map((c) => cell(c, row)))));
    found.textContent = count(shown.length) + " of " + count(given.count) + " instances" +
      (rows.length && pages > 1 ? ", rows " + count(page * PAGE + 1) + " to " + count(page * PAGE + rows.length) : "");
    one("#back").disabled = page === 0;
    one("#on").disabled = page === pages - 1;
    one(".turning span").textContent = "Page " + count(page + 1) + " of " + count(pages);
    one(".turning").hidden = pages === 1;
  };
  const again = () => { page = 0; select(); draw(); };

  const heads = () => {
    head.replaceChildren(...columns.filter((column) => column.shown).map((column) => {
      const button = made("button", { type: "button", textContent: column.title });
      button.addEventListener("click", () => {
        sortBy(column, by === column ? !falls : column.isNumber);
        [...head.querySelectorAll("button")].find((b) => b.textContent === column.title).focus();
      });
      const element = made("th", { scope: "col", className: column.isNumber ? "number" : "" }, button);
      if (column === by) element.setAttribute("aria-sort", falls ? "descending" : "ascending");
      return element;
    }));
  };
  const sortBy = (column, isFalling) => {
    [by, falls] = [column, isFalling];
    sort.value = String(columns.indexOf(column));
    order();
    heads();
    again();
  };

  const counts = given.states.map((_, index) => stateOf.values.filter((value) => value === index).length);
  state.append(made("option", { value: "", textContent: "all: " + count(given.count) }));
  given.states.forEach(([words], index) => {
    if (counts[index]) state.append(made("option", { value: index, textContent: words + ": " + count(counts[index]) }));
  });
  sort.append(made("option", { value: "", textContent: "most urgent" }));
  columns.forEach((column, index) => {
    sort.append(made("option", { value: index, textContent: column.title }));
    if (!index) return;
    const tick = made("input", { type: "checkbox", checked: column.shown });
    tick.addEventListener("change", () => { column.shown = tick.checked; heads(); draw(); });
    one(".choose fieldset").append(made("label", {}, tick, " " + column.title));
  });

  search.addEventListener("input", again);
  state.addEventListener("change", again);
  sort.addEventListener("change", () => {
    const column = columns[sort.value];
    if (sort.value !== "") return sortBy(column, column.isNumber);
    by = null;
    sorted.sort((a, b) => a - b);
    heads();
    again();
  });
  one("#turn").addEventListener("click", () => {
    if (by !== null) return sortBy(by, !falls);
    sorted.reverse();
    again();
  });
  const turn = (by_pages) => { page += by_pages; draw(); one("table").scrollIntoView({ block: "start" }); };
  one("#back").addEventListener("click", () => turn(-1));
  one("#on").addEventListener("click", () => turn(1));

  heads();
  select();
  draw();
  box.hidden = false;
  document.querySelector(".jump").hidden = false;
  document.documentElement.dataset.fleet = "ready";
})();
