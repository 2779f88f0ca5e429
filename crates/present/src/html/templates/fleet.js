"use strict";
(() => {
  const kinds = JSON.parse(document.getElementById("data").textContent || "[]");
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const zh = () => document.getElementById("l-zh").checked;
  const lang = () => { document.documentElement.lang = zh() ? "zh-CN" : "en"; };
  document.querySelectorAll("[name=lang]").forEach(input => input.addEventListener("change", lang));
  const places = text => {
    const all = [];
    for (let at = 0; at + 1 < text.length; at += 2) {
      const number = alphabet.indexOf(text[at]) * 64 + alphabet.indexOf(text[at + 1]);
      all.push(number === 4095 ? null : number - 2048);
    }
    return all;
  };
  const percent = thousandths => {
    const change = Math.expm1(thousandths / 1000) * 100;
    return (change < 0 ? "−" : "+") + Math.abs(change).toFixed(Math.abs(change) < 10 ? 1 : 0) + " %";
  };
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return element;
  };
  // Where the hosts of the kind lie, and a mark for this one.
  const strip = (quantiles, place) => {
    const low = Math.min(quantiles[0], place, -20), high = Math.max(quantiles[5], place, 20);
    const x = value => 4 + 192 * (value - low) / (high - low);
    const svg = make("svg", { viewBox: "0 0 200 14", preserveAspectRatio: "none", "aria-hidden": "true" });
    for (const [from, to, kind] of [[0, 5, "all"], [1, 4, "most"], [2, 3, "half"]])
      svg.append(make("path", { class: kind, d: `M${x(quantiles[from])} 7H${x(quantiles[to]) + 0.1}` }));
    svg.append(make("path", { class: "host", d: `M${x(place) - 2} 0h4v14h-4z` }));
    return svg;
  };
  const open = (row, kind) => {
    const next = row.nextElementSibling;
    if (next && next.className === "cases") return next.remove();
    const list = document.createElement("ol"), all = kinds[kind];
    const number = Number(row.id.split("-")[1]);
    const own = places(all.hosts[number] || "").map((place, index) => [place, index]).filter(one => one[0] !== null);
    const far = ([place, index]) => {
      const quantiles = all.quantiles[index];
      return Math.abs(place) / Math.max(quantiles[4] - quantiles[1], 20);
    };
    own.sort((one, other) => far(other) - far(one));
    for (const [place, index] of own) {
      const line = document.createElement("li"), name = document.createElement("span"), change = document.createElement("b");
      const code = document.createElement("code");
      code.textContent = all.ids[index];
      name.append((zh() ? all.titles[index].zh : all.titles[index].en) + " ", code);
      change.textContent = percent(place);
      line.append(name, change, strip(all.quantiles[index], place));
      list.append(line);
    }
    const below = document.createElement("tr"), cell = document.createElement("td");
    below.className = "cases";
    cell.colSpan = row.cells.length;
    cell.append(list);
    below.append(cell);
    row.after(below);
  };
  for (const map of document.querySelectorAll(".map")) {
    map.addEventListener("click", event => {
      const row = event.target.closest("tbody tr");
      if (row && row.id && row.querySelector("button")) open(row, Number(map.dataset.kind));
    });
    const find = map.closest("section").querySelector(".find");
    find.hidden = false;
    find.querySelector("input").addEventListener("input", event => {
      const wanted = event.target.value.toLowerCase();
      map.querySelectorAll(".cases").forEach(row => row.remove());
      for (const row of map.tBodies[0].rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    });
  }
})();
