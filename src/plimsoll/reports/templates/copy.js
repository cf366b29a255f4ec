// Puts a button beside every command that copies it. Without this script nothing is missing: commands are text.
(() => {
  "use strict";
  const status = document.createElement("p");
  status.className = "hidden";
  status.setAttribute("role", "status");

  // Browsers have a clipboard for pages from a secure address; older ones copy what is selected.
  const copy = async (text, element) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      getSelection().selectAllChildren(element);
      try {
        return document.execCommand("copy");
      } catch {
        return false;
      }
    }
  };

  const commands = document.querySelectorAll("[data-copy]");
  for (const command of commands) {
    const text = command.textContent.replace(/\n$/, "");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    const name = (words) => {
      button.textContent = words;
      button.setAttribute("aria-label", words + ": " + text.slice(0, 80));
    };
    name("Copy");
    let timer = 0;
    button.addEventListener("click", async () => {
      const words = (await copy(text, command)) ? "Copied" : "Selected: press Ctrl+C";
      name(words);
      status.textContent = words;
      clearTimeout(timer);
      timer = setTimeout(() => { name("Copy"); status.textContent = ""; }, 2500);
    });
    if (command.tagName !== "PRE") {
      command.after(" ", button);
      continue;
    }
    const box = document.createElement("div");
    box.className = "copied";
    command.replaceWith(box);
    box.append(command, button);
  }
  if (commands.length) document.querySelector("main").append(status);

  // What scrolls sideways can be scrolled with the keyboard too.
  const reach = new ResizeObserver((changes) => {
    for (const { target: box } of changes) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  // Once now, and whenever the window or a part of the page that opens gives it another size.
  for (const box of document.querySelectorAll(".wide-table, .diff, .characters")) reach.observe(box);
})();
