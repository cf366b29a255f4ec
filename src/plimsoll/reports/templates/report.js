// Draws the timeline again so that it can be read, zoomed and resized. Without this script the
// static drawing stays; nothing else in the page depends on it.
(() => {
  "use strict";
  const box = document.getElementById("chart");
  const given = JSON.parse(document.getElementById("document").textContent);
  const readout = document.getElementById("readout");
  const reset = document.getElementById("reset");
  const shown = document.getElementById("shown");
  const drawing = box.firstElementChild;
  const names = Object.keys(given.columns);
  const count = names.length ? given.columns[names[0]].length : 0;
  const row = (i) =>
    names.reduce((r, n) => { r[n] = given.columns[n][i]; return r; }, { t: given.first_ms + i * given.step_ms });
  given.spec.datasets.samples = Array.from({ length: count }, (_, i) => row(i));

  const target = document.createElement("div");
  const how = { mode: "vega-lite", renderer: "svg", actions: false, tooltip: false, hover: false, logLevel: 1,
    // The page's policy lets no text be evaluated: expressions are interpreted, and no style is added.
    ast: true, defaultStyle: false };
  vegaEmbed(target, given.spec, how).then(({ view }) => {
    drawing.replaceWith(target);
    bring(view);
  }).catch((error) => console.error("plimsoll: the chart stays static:", error));

  const bring = (view) => {
    document.documentElement.classList.add("has-script");
    readout.hidden = false;
    document.querySelector(".controls").hidden = false;

    const clock = (ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " ");
    const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
    const momentAt = (event) => {
      const left = box.querySelector("svg").getBoundingClientRect().left + view.origin()[0];
      const ms = +view.scale("x").invert(clamp(event.clientX - left, 0, width));
      return clamp(ms, given.window_ms[0], given.window_ms[1]);
    };

    // What is known of one moment, above the chart.
    const show = (now) => {
      readout.replaceChildren();
      const add = (text, label) => {
        const item = document.createElement("span");
        const value = document.createElement("b");
        value.textContent = text;
        item.append(value, " " + label);
        readout.append(item);
      };
      add(clock(now.t - given.step_ms / 2), "UTC");
      for (const [name, label, unit, digits] of given.readout) {
        const value = now[name];
        const text = value === null ? "unknown"
          : value.toLocaleString("en-US", { maximumFractionDigits: digits }) + (unit ? " " + unit : "");
        add(text, label);
      }
    };

    let at = -1;
    const point = (index) => {
      at = clamp(index, 0, count - 1);
      const now = row(at);
      show(now);
      view.signal("cursor", now.t).run();
    };

    let width = 0;
    const fit = () => {
      const room = Math.floor(box.clientWidth - view.origin()[0] - 10);
      if (room <= 100 || room === width) return;
      view.signal("width", (width = room)).run();
      // Room for the longest answer is kept, so that the chart does not move under the pointer.
      const children = [...readout.childNodes];
      readout.style.minHeight = "";
      show(row(0));
      readout.style.minHeight = readout.offsetHeight + "px";
      readout.replaceChildren(...children);
    };
    fit();
    new ResizeObserver(fit).observe(box);

    const zoom = (from, to) => {
      const [first, last] = given.window_ms;
      const least = Math.min(5 * given.step_ms, last - first);
      const middle = (from + to) / 2;
      const half = Math.max(to - from, least) / 2;
      from = clamp(middle - half, first, last - 2 * Math.min(half, (last - first) / 2));
      to = clamp(from + 2 * half, first, last);
      const all = from <= first && to >= last;
      reset.hidden = all;
      const [start, end] = [clock(from), clock(to)];
      const until = start.slice(0, 10) === end.slice(0, 10) ? end.slice(11) : end;
      shown.textContent = all ? "" : start + " – " + until + " UTC";
      view.signal("shown_from", from).signal("shown_to", to).signal("drag_from", -1).signal("drag_to", -1).run();
    };
    const whole = () => zoom(given.window_ms[0], given.window_ms[1]);

    let begun = null;
    box.addEventListener("pointerdown", (event) => {
      if (event.button === 0) begun = { x: event.clientX, ms: momentAt(event), far: false };
    });
    box.addEventListener("pointermove", (event) => {
      const ms = momentAt(event);
      if (begun && (begun.far || Math.abs(event.clientX - begun.x) > 5)) {
        begun.far = true;
        box.setPointerCapture(event.pointerId);
        view.signal("drag_from", Math.min(begun.ms, ms)).signal("drag_to", Math.max(begun.ms, ms));
      }
      point(Math.round((ms - given.first_ms) / given.step_ms));
    });
    const release = (event) => {
      const drag = begun;
      begun = null;
      if (!drag || !drag.far) return;
      if (event.type === "pointercancel") view.signal("drag_from", -1).signal("drag_to", -1).run();
      else zoom(Math.min(drag.ms, momentAt(event)), Math.max(drag.ms, momentAt(event)));
    };
    box.addEventListener("pointerup", release);
    box.addEventListener("pointercancel", release);
    box.addEventListener("pointerleave", () => { if (!begun) view.signal("cursor", -1).run(); });
    box.addEventListener("dblclick", whole);
    reset.addEventListener("click", whole);
    box.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
      if (event.key === "Escape") whole();
      else if (by) { event.preventDefault(); point(at < 0 ? 0 : at + by); }
    });
    for (const button of document.querySelectorAll("button[data-from]")) {
      button.addEventListener("click", () => {
        const from = 1000 * button.dataset.from, to = 1000 * button.dataset.to;
        const margin = Math.max(0.25 * (to - from), 5 * given.step_ms);
        zoom(from - margin, to + margin);
        const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
        document.getElementById("timeline").scrollIntoView({ behavior: calm ? "auto" : "smooth" });
      });
    }
  };
})();
