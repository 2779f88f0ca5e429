"use strict";
(() => {
  const root = document.documentElement, tip = document.getElementById("tip");
  for (const input of document.querySelectorAll("input[name=lang]")) {
    // A browser may restore another choice than the one that the file was made with.
    const follow = () => { if (input.checked) { root.lang = input.value; hide(); } };
    input.addEventListener("change", follow);
    addEventListener("pageshow", follow);
  }
  const zh = () => root.lang !== "en";
  let on = null;
  function hide() {
    if (on) on.classList.remove("on");
    on = null;
    tip.hidden = true;
  }
  // A mark's title is what the browser shows without this script; with it, the same text stands in our own place.
  function reading(mark) {
    const title = mark.querySelector("title");
    if (title) { mark.dataset.en = title.textContent; title.remove(); }
    return zh() && mark.dataset.zh || mark.dataset.en;
  }
  function show(mark) {
    if (on !== mark) hide();
    on = mark;
    mark.classList.add("on");
    const of = mark.closest("g[data-en]"), name = document.createElement("b");
    name.textContent = of ? zh() && of.dataset.zh || of.dataset.en : "";
    tip.replaceChildren(...(name.textContent ? [name] : []), reading(mark));
    tip.hidden = false;
    const at = mark.getBoundingClientRect(), box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(4, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 4);
    const above = at.top - box.height - 8;
    tip.style.left = left + "px";
    tip.style.top = (above < 4 ? at.bottom + 8 : above) + "px";
  }
  const middle = mark => {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  for (const chart of document.querySelectorAll("svg.chart")) {
    let marks = null;
    const all = () => {
      if (!marks) { marks = [...chart.querySelectorAll(".m")]; marks.forEach(reading); }
      return marks;
    };
    chart.setAttribute("tabindex", "0");
    chart.setAttribute("aria-describedby", "tip");
    chart.addEventListener("pointerenter", all);
    chart.addEventListener("pointermove", event => {
      const hit = event.target.closest(".m");
      if (hit) return show(hit);
      let best = null, least = 28 ** 2;
      for (const mark of all()) {
        const [x, y] = middle(mark), far = (x - event.clientX) ** 2 + (y - event.clientY) ** 2;
        if (far < least) { best = mark; least = far; }
      }
      if (best) show(best); else hide();
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", event => {
      const to = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === "Escape") return hide();
      if (!to || !all().length) return;
      event.preventDefault();
      if (!on || !chart.contains(on)) return show(marks[0]);
      // The nearest mark that way: what lies aside counts threefold, so that a line is followed.
      const [x, y] = middle(on);
      let best = null, least = Infinity;
      for (const mark of marks) {
        const [a, b] = middle(mark), ahead = (a - x) * to[0] + (b - y) * to[1];
        const aside = Math.abs((a - x) * to[1]) + Math.abs((b - y) * to[0]);
        if (mark !== on && ahead > 0.5 && ahead + 3 * aside < least) { best = mark; least = ahead + 3 * aside; }
      }
      if (best) show(best);
    });
  }
  addEventListener("scroll", hide, { passive: true });
  for (const code of navigator.clipboard ? document.querySelectorAll("code.command") : []) {
    const button = document.createElement("button"), words = { en: ["Copy", "Copied"], "zh-CN": ["复制", "已复制"] };
    const say = done => button.replaceChildren(...Object.entries(words).map(([lang, both]) => {
      const word = document.createElement("span");
      word.lang = lang;
      word.textContent = both[+done];
      return word;
    }));
    button.className = "copy";
    button.addEventListener("click", () => navigator.clipboard.writeText(code.textContent).then(() => say(true)));
    button.addEventListener("blur", () => say(false));
    say(false);
    (code.closest("a") ?? code).after(" ", button);
  }
})();
