"use strict";
// Tables of class "sorts" are sorted by a column when its heading is chosen, numbers as numbers; again turns it round.
// On a narrow page each cell shows its heading.
function sortable(table) {
  const headings = [...table.querySelectorAll("thead th")];
  label(table);
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const turned = heading.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", turned);
      sortAgain(table);
    });
  });
}

function label(table) {
  const names = [...table.querySelectorAll("thead th")].map((heading) => heading.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = names[i]; });
}

// Puts the rows of a table in the order that its headings say; for a table with new rows.
function sortAgain(table) {
  label(table);
  const column = [...table.querySelectorAll("thead th")].findIndex((heading) => heading.hasAttribute("aria-sort"));
  if (column < 0) return;
  const down = table.tHead.rows[0].cells[column].getAttribute("aria-sort") === "descending";
  const said = (row) => row.cells[column].textContent.trim();
  const number = (row) => said(row) === "" ? NaN : Number(said(row).replace(/[,%]|\s|^2\^/g, ""));
  const order = (a, b) => {
    const [x, y] = [number(a), number(b)];
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;  // what is no number stands below
    return (down ? -1 : 1) * (Number.isNaN(x) ? said(a).localeCompare(said(b)) : x - y);
  };
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort(order));
}

document.querySelectorAll("table.sorts").forEach(sortable);
