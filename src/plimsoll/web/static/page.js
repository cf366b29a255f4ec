// Brings changes as they come. Without this script the page reloads itself every minute.
(() => {
  "use strict";
  const live = document.getElementById("live");
  const text = document.getElementById("live-text");
  const sort = document.getElementById("sort");
  const rows = document.getElementById("rows");
  const newer = document.getElementById("newer");
  const waiting = new Map();
  let address = document.body.dataset.events;
  let source = null;

  const say = (state, words) => {
    live.dataset.state = state;
    if (text.textContent !== words) text.textContent = words;
  };

  // Somebody is typing there, or has opened something: it is replaced when they are done.
  const isBusy = (element) => {
    const at = document.activeElement;
    const typing = at && element.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
    return typing || element.querySelector("details[open] form") !== null;
  };

  const replace = (id, markup) => {
    const old = document.getElementById(id);
    if (!old) return;
    if (isBusy(old)) {
      waiting.set(id, markup);
      return;
    }
    const holder = document.createElement("template");
    holder.innerHTML = markup;
    const fresh = holder.content.firstElementChild;
    const at = document.activeElement;
    const index = at && old.contains(at) ? [...old.querySelectorAll("a, button, summary")].indexOf(at) : -1;
    // A summary that is read aloud must stay the same element.
    if (old.getAttribute("role") === "status") {
      if (old.textContent !== fresh.textContent) old.textContent = fresh.textContent;
      return;
    }
    if (old.tagName === "TR" && old.className !== fresh.className) fresh.classList.add("changed");
    old.replaceWith(fresh);
    if (index >= 0) fresh.querySelectorAll("a, button, summary")[index]?.focus({ preventScroll: true });
  };

  const retry = () => {
    for (const [id, markup] of [...waiting]) {
      waiting.delete(id);
      replace(id, markup);
    }
  };
  document.addEventListener("focusout", () => setTimeout(retry, 0));
  document.addEventListener("toggle", () => setTimeout(retry, 0), true);

  // Rows keep their places, so that none moves from under a pointer; a link sorts them again.
  const checkOrder = () => {
    if (!rows) return;
    const ranks = [...rows.children].map((row) => row.dataset.rank);
    sort.hidden = ranks.every((rank, i) => i === 0 || ranks[i - 1] <= rank);
  };

  // The report is made once, when the page is opened: zooming would be lost with every minute.
  const checkReport = () => {
    const now = document.getElementById("now");
    if (newer && now) newer.hidden = now.dataset.end === newer.dataset.end;
  };

  const open = () => {
    if (source) return;
    source = new EventSource(address);
    source.addEventListener("open", () => say("on", "Live"));
    source.addEventListener("error", () => say("off", "Not connected: trying again"));
    source.addEventListener("parts", (event) => {
      const parts = JSON.parse(event.data);
      for (const id of Object.keys(parts)) replace(id, parts[id]);
      address = address.replace(/since=\d+/, "since=" + event.lastEventId);
      checkOrder();
      checkReport();
    });
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  // A page that nobody sees needs no connection; browsers have six of them for a server.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => { if (!document.hidden) open(); });
  if (!document.hidden) open();
})();
