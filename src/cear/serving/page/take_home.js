/* Take home: accepted facts as files, and the log of decisions, out and in. */

import { get, getFile, post } from "./api.js";
import { announce, count, fill, h, trouble } from "./dom.js";

const FILES = [
  {
    title: "TSV",
    about: "A table for a spreadsheet or a script: ids, names, probability, who and when.",
    path: "export",
    format: "tsv",
    file: "accepted.tsv",
  },
  { title: "N-Triples", about: "Plain facts for any triple store.", path: "export", format: "nt", file: "accepted.nt" },
  {
    title: "RDF 1.2",
    about: "Facts with their provenance: who accepted them, when, which run, how likely it said they are.",
    path: "export",
    format: "rdf12",
    file: "accepted.ttl",
  },
  {
    title: "JSON lines",
    about: "The same for a program, one fact a line.",
    path: "export",
    format: "jsonl",
    file: "accepted.jsonl",
  },
];
const LOG = {
  title: "Log of decisions",
  about: "Every decision in its order, also what was rejected, skipped or undone. Another run can read it.",
  path: "decisions",
  format: "",
  file: "decisions.jsonl",
};

/** The view of #/take-home. */
export async function takeHome(main) {
  const said = h("p", { class: "lead" });
  const refresh = async () => {
    const { accepted, rejected, skipped } = await get("decisions/summary");
    said.textContent = accepted
      ? `${count(accepted)} accepted facts are ready to take home.`
      : "No fact is accepted yet: the files are there, and empty.";
    announce(`${accepted} accepted, ${rejected} rejected, ${skipped} skipped.`);
  };
  await refresh();
  fill(
    main,
    h("h1", { tabindex: "-1" }, "Take home"),
    said,
    h("h2", {}, "Accepted facts"),
    h("ul", { class: "files" }, FILES.map(fileCard)),
    h("h2", {}, "Decisions"),
    h("ul", { class: "files" }, fileCard(LOG), importCard(refresh)),
  );
  return "Take home";
}

function fileCard(file) {
  return h(
    "li",
    { class: "card" },
    h("h3", {}, file.title),
    h("p", {}, file.about),
    h(
      "button",
      { type: "button", onclick: () => download(file) },
      "Download ",
      h("span", { class: "unseen" }, file.title),
    ),
  );
}

/** Save a file. It is fetched first, because a plain link cannot show the token. */
async function download({ path, format, file }) {
  try {
    const address = URL.createObjectURL(await getFile(path, { format }));
    h("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    trouble("");
    announce(`${file} is downloaded.`);
  } catch (error) {
    trouble(error.message);
  }
}

function importCard(refresh) {
  const told = h("p", { role: "status" });
  const input = h("input", {
    type: "file",
    id: "log",
    accept: ".jsonl,.ndjson,application/x-ndjson",
    onchange: () => bringIn(input, told, refresh),
  });
  return h(
    "li",
    { class: "card" },
    h("h3", {}, "Bring in a log"),
    h("p", {}, "Add the decisions of another log; what is here already is kept once."),
    h("label", { for: "log", class: "file-label" }, "A file of decisions"),
    input,
    told,
  );
}

async function bringIn(input, told, refresh) {
  const [file] = input.files;
  if (!file) return;
  try {
    const { added, read } = await post("decisions/import", await file.text(), "application/x-ndjson");
    told.textContent = `${count(added)} of ${count(read)} decisions were new.`;
    await refresh();
  } catch (error) {
    told.textContent = error.message;
  }
  input.value = "";
}
