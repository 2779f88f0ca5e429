
(() => {
  const lang = () => document.documentElement.lang === "en" ? "en" : "zh-CN";
  // Cells as people read them in the language that is shown.
  const words = cell => (cell.querySelector(`:scope > [lang="${lang()}"]`) || cell).textContent.trim();
  // A value is sorted by what it is, not by the number before its unit: 1.1 \u00b5s is more than 900 ns.
  const powers = { n: 1e-9, "\u00b5": 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };
  const scale = unit => {
    const found = unit.match(/^(?:(n|\u00b5|m|k|[KMGTP]i|[MGTP])?(?:s|B|B\/s|Hz|\/s|bit\/s)|([MG]))$/);
    if (found && found[2]) return powers[found[2]];
    if (!found || !found[1]) return 1;
    return found[1].endsWith("i") ? 1024 ** (1 + "KMGTP".indexOf(found[1][0])) : powers[found[1]];
  };
  const number = cell => {
    if (cell.dataset.v) return Number(cell.dataset.v);
    const found = words(cell).replace("\u2212", "-").match(/^[^\d-]*(-?\d[\d.]*)(?:\s+([^\s\d(\u00b1]+))?/);
    return found ? Number(found[1]) * scale(found[2] || "") : NaN;
  };
  // A case and what further runs have of it stay together. What has no number comes last, whichever way, and behind it the words that
  // stand in the place of a value.
  const sort = (table, column, down) => {
    const body = table.tBodies[0], groups = [];
    for (const row of body.rows) {
      if (groups.length && row.cells[0].tagName !== "TH") { groups[groups.length - 1].rows.push(row); continue; }
      const cell = row.cells[column], none = !cell || cell.classList.contains("instead");
      const value = none ? NaN : number(cell);
      groups.push({ rows: [row], value, text: none ? "" : words(cell), rank: none ? 2 : isNaN(value) ? 1 : 0 });
    }
    const order = (a, b) => a.rank ? a.text.localeCompare(b.text, lang()) : a.value - b.value;
    groups.sort((a, b) => a.rank - b.rank || (down ? -order(a, b) : order(a, b)));
    body.append(...groups.flatMap(group => group.rows));
  };
  for (const table of document.querySelectorAll("table.values")) {
    if (!table.tHead || table.tBodies[0].rows.length < 2 || table.querySelector("tr.section")) continue;
    table.classList.add("sortable");
    const act = event => {
      const head = event.target.closest("th");
      if (!head || event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      // Numbers begin with the greatest, as those are looked for; a second time turns the order round.
      const first = head.classList.contains("n") ? "descending" : "ascending";
      const turned = first === "descending" ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? turned : first;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      sort(table, head.cellIndex, order === "descending");
    };
    for (const head of table.tHead.rows[0].cells) head.tabIndex = 0;
    table.tHead.addEventListener("click", act);
    table.tHead.addEventListener("keydown", act);
  }
  // A link into a group that is closed opens it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const inner = target.matches("section") && target.querySelector(":scope > details.group");
    if (inner) inner.open = true;
    for (let group = target.closest("details"); group; group = group.parentElement.closest("details")) group.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) reveal();
  });
  reveal();
  const find = document.getElementById("find"), found = document.getElementById("found");
  if (!document.querySelector("table.values")) return;
  find.closest(".find").hidden = false;
  let tables = null, were = null;
  const gather = () => [...document.querySelectorAll("table.values")].map(table => {
    const article = table.closest("article"), title = article.querySelector("h2, h3, h4").textContent.toLowerCase();
    let last = null;
    const rows = [...table.tBodies[0].rows].filter(row => !row.classList.contains("section")).map(row => {
      // The further runs of a case are found by its name.
      if (row.cells[0].tagName === "TH") last = [...row.cells].filter(cell => cell.tagName === "TH").map(cell => cell.textContent + " " + cell.title).join(" ");
      return [row, (title + " " + (last || "") + " " + row.textContent).toLowerCase()];
    });
    return { article, rows, table };
  });
  find.addEventListener("input", () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    tables ||= gather();
    const groups = [...document.querySelectorAll("main details.group")];
    were ||= groups.map(group => group.open);
    let count = 0;
    const matching = new Set();
    for (const { article, rows, table } of tables) {
      let here = 0;
      for (const [row, text] of rows) {
        row.hidden = !wanted.every(word => text.includes(word));
        if (!row.hidden) here++;
      }
      for (const row of table.querySelectorAll("tr.section")) row.hidden = wanted.length > 0;
      count += here;
      if (here) matching.add(article);
    }
    for (const { article } of tables) article.hidden = !matching.has(article) && !article.closest("#comparison");
    groups.forEach((group, index) => {
      const own = tables.filter(({ table }) => group.contains(table));
      const has = own.some(({ rows }) => rows.some(([row]) => !row.hidden));
      group.open = wanted.length ? own.length > 0 && has : were[index];
      if (group.closest("#values")) group.hidden = wanted.length > 0 && !has;
    });
    if (!wanted.length) were = null;
    document.body.classList.toggle("finding", wanted.length > 0);
    found.textContent = wanted.length ? count : "";
    if (wanted.length && matching.size) [...matching][0].scrollIntoView({ block: "nearest" });
  });
  find.addEventListener("keydown", event => {
    if (event.key !== "Escape") return;
    find.value = "";
    find.dispatchEvent(new Event("input"));
  });
})();
