
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
  const compare = (one, other) => {
    const [a, b] = [number(one), number(other)];
    if (!isNaN(a) && !isNaN(b)) return a - b;
    // What has no number comes last.
    return isNaN(a) - isNaN(b) || words(one).localeCompare(words(other), lang());
  };
  // A case and what further runs have of it stay together; the words in the place of a value have no column.
  const sort = (table, column, down) => {
    const body = table.tBodies[0], groups = [];
    for (const row of body.rows) {
      if (groups.length && row.cells[0].tagName !== "TH") groups[groups.length - 1].push(row);
      else groups.push([row]);
    }
    const at = group => group[0].cells[column];
    groups.sort((one, other) => {
      const [a, b] = [at(one), at(other)], none = cell => !cell || cell.classList.contains("instead");
      if (none(a) || none(b)) return none(a) - none(b);
      const order = compare(a, b), last = isNaN(number(a)) !== isNaN(number(b));
      return down && !last ? -order : order;
    });
    body.append(...groups.flat());
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
    let group = target.closest("details");
    if (group && !group.open) {
      for (; group; group = group.parentElement.closest("details")) group.open = true;
    }
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
  find.closest("label").hidden = false;
  let tables = null, were = null;
  const gather = () => [...document.querySelectorAll("table.values")].map(table => {
    const article = table.closest("article"), title = article.querySelector("h3, h4").textContent.toLowerCase();
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
