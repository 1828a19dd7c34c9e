// Draws what the stream tells. Nothing here changes the node, and nothing that comes from it is taken for markup.
"use strict";

const SHOWN_WORKERS = 12;
const SHOWN_PODS_OF_A_PHONE = 6;
const narrow = matchMedia("(max-width: 900px)");
// Without the name and the password that the address may carry, and behind whatever proxy.
const HOME = location.origin + location.pathname.replace(/ui\/?$/, "");
const parts = new Map();
let chosen = "";
let chosenByHand = false;
const unfolded = new Set();
let drawAsked = false;
let storyAsked = 0;
let storyTold = "";
let storyShown = "";

const at = (id) => document.getElementById(id);

// --- words from outside -----------------------------------------------------------------------------------------------
// Only the functions here put text into the page, as config/values/harmless_text.py does it for terminals.

const HARMFUL = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;
const BREAKS = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

function harmless(text) {
  return String(text).replace(HARMFUL, (each) => {
    const digits = each.codePointAt(0).toString(16);
    const [letter, length] = digits.length <= 2 ? ["x", 2] : digits.length <= 4 ? ["u", 4] : ["U", 8];
    return BREAKS[each] || "\\" + letter + digits.padStart(length, "0");
  });
}

function write(element, text) {
  element.textContent = harmless(text);
}

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    // The uid of a pod and the path of an actor are read again, to ask for them.
    else if (name.startsWith("data-")) made.setAttribute(name, value);
    else if (value !== undefined && value !== null) made.setAttribute(name, harmless(value));
  }
  made.append(...children.map((child) => (child instanceof Node ? child : harmless(child))));
  return made;
}

function of(kind) {
  const found = [];
  for (const [key, part] of parts) if (key.startsWith(kind + "/")) found.push([key.slice(kind.length + 1), part]);
  return found;
}

// --- ages -----------------------------------------------------------------------------------------------------------

function age(stamp) {
  const seconds = Math.max(0, Math.floor((now() - Date.parse(stamp)) / 1000));
  if (seconds < 120) return seconds + "s";
  if (seconds < 7200) return Math.floor(seconds / 60) + "m";
  return seconds < 172800 ? Math.floor(seconds / 3600) + "h" : Math.floor(seconds / 86400) + "d";
}

function since(stamp, before = "") {
  return stamp ? make("span", { "data-since": stamp, "data-before": before, title: stamp }, before + age(stamp)) : "";
}

function drawAges() {
  for (const each of document.querySelectorAll("[data-since]")) {
    write(each, each.dataset.before + age(each.dataset.since));
  }
}

setInterval(drawAges, 1000);

// --- the stream -----------------------------------------------------------------------------------------------------

function listen() {
  const stream = new EventSource(HOME + "ui/live/stream");
  stream.onmessage = (message) => {
    const told = JSON.parse(message.data);
    if (told.whole) parts.clear();
    for (const key of told.gone) parts.delete(key);
    for (const [key, part] of Object.entries(told.parts)) parts.set(key, part);
    linked("live", "good");
    askDraw();
    if (Object.keys(told.parts).some((key) => key === "pod/" + chosen || key.endsWith("/" + chosen))) tellStory();
  };
  stream.onerror = () => {
    linked("no answer", "bad");
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

function linked(text, kind) {
  write(at("link"), text);
  at("link").className = "chip " + kind;
}

function askDraw() {
  if (drawAsked) return;
  drawAsked = true;
  requestAnimationFrame(() => {
    drawAsked = false;
    draw();
  });
}

// A table is drawn anew only when what it shows has changed, so that texts can be marked and copied.
const drawn = new Map();
function place(element, data, build) {
  const text = JSON.stringify(data);
  if (drawn.get(element) === text) return;
  drawn.set(element, text);
  const held = element.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  element.replaceChildren(...build());
  // Whoever goes through a table by keys stays where they are.
  if (held) [...element.querySelectorAll("button")].find((each) => each.dataset.key === held)?.focus();
}

// --- drawing --------------------------------------------------------------------------------------------------------

function draw() {
  drawNode();
  drawPods();
  drawActors();
  drawSide();
  drawShares();
}

function drawNode() {
  const node = parts.get("node");
  if (!node) return;
  const ready = of("condition").find(([type]) => type === "Ready");
  document.title = harmless(node.name + " - actorlet");
  write(at("node"), node.name);
  write(at("version"), "actorlet " + node.version);
  const well = ready ? ready[1].status === "True" : undefined;
  document.querySelector(".mark").className = "mark" + (well === undefined ? "" : well ? " good" : " bad");
  place(at("conditions"), of("condition"), () =>
    of("condition").map(([type, one]) => {
      const good = type === "Ready" ? one.status === "True" : one.status === "False";
      const kind = good ? "good" : one.status === "Unknown" ? "warn" : "bad";
      const text = type === "Ready" ? (good ? "Ready" : "not Ready") : (good ? "no " : "") + type;
      return make("li", { class: "chip " + kind, title: one.reason + ": " + one.message }, text);
    })
  );
  const wrong = [];
  if (ready && !well) wrong.push("The node is not ready: " + ready[1].message);
  if (node.late.length) wrong.push("Late: " + node.late.map(shortPath).join(", "));
  if (node.stuck) wrong.push(node.stuck + " handlers block their threads");
  at("banner").hidden = !wrong.length;
  write(at("banner"), wrong.join(" - "));
}

function drawPods() {
  const order = ([, a], [, b]) => a.well - b.well || a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name);
  const pods = of("pod").sort(order);
  // Until somebody chooses, the first in trouble is shown.
  const there = parts.get("pod/" + chosen);
  if (pods.length && (!there || (!chosenByHand && there.well && !pods[0][1].well))) choose(pods[0][0], false);
  const well = pods.filter(([, pod]) => pod.well).length;
  write(at("pods-count"), pods.length ? well + " of " + pods.length + " well" : "none");
  const folded = narrow.matches && !unfolded.has("pods");
  const shown = folded ? pods.filter(([uid, pod], at) => at < SHOWN_PODS_OF_A_PHONE || !pod.well || uid === chosen) : pods;
  place(at("pods").tBodies[0], [shown, pods.length, chosen], () => {
    const rows = shown.map(([uid, pod]) => podRow(uid, pod));
    return shown.length < pods.length ? [...rows, moreRow("pods", pods.length - shown.length)] : rows;
  });
}

function statusChip(pod) {
  const kind = pod.well ? "good" : /Err|Crash|BackOff|Failed|OOM|Invalid/.test(pod.status) ? "bad" : "warn";
  return make("span", { class: "chip " + kind }, pod.status);
}

function podRow(uid, pod) {
  const here = uid === chosen;
  const name = make("button", { type: "button", "data-key": uid, "aria-current": here ? "true" : null }, make("span", { class: "quiet" }, pod.namespace + "/"), pod.name);
  return make(
    "tr",
    { "data-uid": uid, class: here ? "chosen" : "", title: pod.why },
    make("td", { class: "name" }, name),
    make("td", {}, statusChip(pod)),
    make("td", { class: "number spare" }, pod.ready),
    make("td", { class: "number" + (pod.restarts ? " warn" : "") }, String(pod.restarts)),
    make("td", { class: "number spare" }, since(pod.since))
  );
}

// Three columns: a phone shows no more of either table.
function moreRow(up, count, depth = 0) {
  const button = make("button", { type: "button", "data-key": "more " + up }, "and " + count + " more that are well");
  const indent = make("span", { class: "tree" }, "  ".repeat(depth));
  return make("tr", { class: "more", "data-up": up }, make("td", { colspan: 3 }, indent, button));
}

const KINDS = { parked: "bad", "backing off": "bad", waiting: "busy", handling: "busy", idle: "", stopping: "warn" };

function isTroubled(actor) {
  return actor.late || /park|back/i.test(actor.state) || actor.dropped > 0 || actor.restarts > 0;
}

function podOf(uid) {
  const pod = parts.get("pod/" + uid);
  return pod ? pod.namespace + "/" + pod.name : "";
}

function shortPath(path) {
  return path.split("/").map((part) => podOf(part) || part).join("/");
}

// The rows of the tree: parents before children; of many alike only some, and all that are in trouble.
function rowsOf(actors) {
  const children = new Map();
  for (const [path, actor] of actors) {
    const up = path === "/" ? "" : path.slice(0, path.lastIndexOf("/")) || "/";
    if (!children.has(up)) children.set(up, []);
    children.get(up).push([path, actor]);
  }
  const rows = [];
  const walk = (up, depth) => {
    const here = (children.get(up) || []).sort(([a], [b]) => (isUid(a) && isUid(b) ? shortPath(a).localeCompare(shortPath(b)) : a.localeCompare(b)));
    const workers = here.filter(([path]) => isUid(path));
    const folded = workers.length > SHOWN_WORKERS && !unfolded.has(up);
    let shown = 0;
    for (const [path, actor] of here) {
      if (folded && isUid(path) && !isTroubled(actor) && ++shown > SHOWN_WORKERS) continue;
      rows.push({ path, actor, depth });
      walk(path, depth + 1);
    }
    if (folded && shown > SHOWN_WORKERS) rows.push({ more: shown - SHOWN_WORKERS, up, depth });
  };
  walk("", 0);
  return rows;
}

function isUid(path) {
  return path.split("/").length === 4 && path.startsWith("/node/sync-loop/");
}

function drawActors() {
  const actors = of("actor");
  const troubled = actors.filter(([, actor]) => isTroubled(actor));
  write(at("actors-count"), actors.length + (troubled.length ? ", " + troubled.length + " troubled" : ", all well"));
  const only = at("troubled").checked;
  const rows = only ? troubled.map(([path, actor]) => ({ path, actor, depth: 0 })) : rowsOf(actors);
  const names = rows.map((row) => (row.path ? shortPath(row.path) : ""));
  const none = make("tr", {}, make("td", { colspan: 3, class: "quiet" }, "no actor is in trouble"));
  place(at("actors").tBodies[0], [rows, names], () => (rows.length ? rows.map((row) => actorRow(row, only)) : [none]));
}

function actorRow({ path, actor, depth, more, up }, flat) {
  if (more) return moreRow(up, more, depth);
  const last = path === "/" ? "/" : path.slice(path.lastIndexOf("/") + 1);
  const name = flat ? shortPath(path) : podOf(last) || last;
  const words = actor.waitingFor && actor.handlingSince ? "waits for " + actor.waitingFor : actor.failure;
  const isFailure = words === actor.failure && /park|back/i.test(actor.state);
  return make(
    "tr",
    { title: path },
    make("td", { class: "name" }, make("span", { class: "tree" }, flat ? "" : "  ".repeat(depth)), name, make("span", { class: "class" }, actor.class)),
    make("td", {}, make("span", { class: "chip " + (actor.late ? "bad" : KINDS[actor.state] || "") }, actor.late ? "late" : actor.state)),
    make("td", { class: "number spare" + (actor.oldest ? " warn" : "") }, String(actor.mailbox), actor.oldest ? since(actor.oldest, " \u00b7 ") : ""),
    make("td", { class: "number spare" }, String(actor.handled)),
    make("td", { class: "number spare" + (actor.restarts ? " bad" : "") }, String(actor.restarts)),
    make("td", { class: "words" + (isFailure ? " bad" : "") }, words)
  );
}

function drawSide() {
  const slow = of("actor").filter(([, actor]) => actor.slowest).sort(([, a], [, b]) => b.slowestMs - a.slowestMs).slice(0, 8);
  const slowRows = slow.map(([path, actor]) => [shortPath(path).replace(/^\/node\//, ""), actor.slowest.replace(/\(.*$/, ""), actor.slowestMs]);
  place(at("slowest").tBodies[0], slowRows, () =>
    slowRows.map(([path, handler, ms]) =>
      make("tr", {}, make("td", { class: "name" }, handler), make("td", { class: "words", title: path }, path), make("td", { class: "number" }, ms.toFixed(1) + " ms"))
    )
  );
  const lanes = of("lane");
  place(at("lanes").tBodies[0], lanes, () =>
    lanes.map(([name, lane]) =>
      make(
        "tr",
        { title: wordsOfLane(lane) },
        make("td", { class: lane.full ? "bad" : "" }, name + (lane.full ? " (full)" : "")),
        make("td", { class: "number" }, String(lane.running)),
        make("td", { class: "number" + (lane.waiting ? " warn" : "") }, String(lane.waiting)),
        make("td", { class: "number" }, String(lane.size)),
        make("td", { class: "number" + (lane.hanging ? " bad" : "") }, String(lane.hanging))
      )
    )
  );
  const problems = of("problem");
  at("problems").className = problems.length ? "" : "none";
  place(at("problems"), problems, () =>
    problems.length ? problems.map(([, one]) => make("li", { class: one.fatal ? "fatal" : "" }, one.text)) : [make("li", { class: "quiet" }, "none")]
  );
}

// Whose calls wait or hang, in the order of their turns, and which calls were given up.
function wordsOfLane(lane) {
  const keys = lane.keys.map((one) => {
    const counts = [[one.running, "run"], [one.waiting, "wait"], [one.hanging, "hang"]].filter(([count]) => count);
    const turn = one.waiting && one.before !== null ? ", " + one.before + " before it" : "";
    return (podOf(one.key) || one.key) + ": " + counts.map(([count, word]) => count + " " + word).join(", ") + turn;
  });
  if (lane.moreKeys) keys.push("and " + lane.moreKeys + " more");
  return [...keys, ...lane.lost.map((one) => (podOf(one.key) || one.key) + ": gave up " + one.call)].join("\n");
}

// --- the story of a pod -----------------------------------------------------------------------------------------------

function choose(uid, byHand) {
  chosen = uid;
  chosenByHand = chosenByHand || byHand;
  storyTold = "";
  tellStory(true);
  if (byHand && narrow.matches) at("story-box").scrollIntoView();
}

async function tellStory(now = false) {
  if (!chosen || (!now && Date.now() - storyAsked < 900)) return;
  storyAsked = Date.now();
  const uid = chosen;
  try {
    const answer = await fetch(HOME + homeOfStory() + encodeURIComponent(uid), { credentials: "same-origin" });
    if (!answer.ok || uid !== chosen) return;
    const text = await answer.text();
    const story = JSON.parse(text);
    const told = JSON.stringify({ ...story, asked: "" });
    if (told === storyTold) return;
    storyTold = told;
    drawStory(story);
  } catch (error) {
    // The stream says that nobody answers.
  }
}

function clearStory() {
  storyTold = "";
  storyShown = "";
  write(at("story-of"), "The pod that you choose");
  const made = [];
  at("story").replaceChildren(...made);
  drawn.delete(at("story-of"));
}

function clock(stamp) {
  return make("time", { datetime: stamp, title: stamp }, stamp.slice(11, 19));
}

// What to do, the words of whoever refused, the last lines of a log.
function notesOf(story, line) {
  for (const verdict of story.verdicts) {
    if (!line.startsWith(verdict.text) && !line.startsWith(verdict.subject + ": " + verdict.text)) continue;
    const notes = [];
    if (verdict.advice) notes.push(make("div", { class: "note" }, make("strong", {}, "What to do: "), verdict.advice));
    if (verdict.original && !line.includes(verdict.original)) notes.push(make("div", { class: "note" }, verdict.original));
    if (verdict.log.length) {
      notes.push(make("div", { class: "note" }, make("strong", {}, "The end of its log:")));
      notes.push(make("div", { class: "note log" }, ...verdict.log.map((each) => make("div", {}, each))));
    }
    return notes;
  }
  return [];
}

function drawStory(story) {
  const pod = parts.get("pod/" + chosen);
  place(at("story-of"), [story.namespace, story.name, story.stage, pod], () => [
    make("span", { class: "quiet" }, story.namespace + "/"),
    make("span", {}, story.name),
    ...(pod ? [" ", statusChip(pod)] : []),
    make("span", { class: "quiet" }, [story.stage, pod && pod.ip].filter(Boolean).map((each) => " " + each).join(",")),
  ]);
  const box = at("story");
  const made = [];
  if (story.why.length) made.push(...story.why.map((line) => make("div", { class: "why" }, make("p", {}, line), ...notesOf(story, line))));
  else made.push(make("div", { class: "why well" }, make("p", {}, story.status)));
  const next = [];
  if (story.doing) next.push(make("li", {}, "its worker waits for " + story.doing));
  for (const line of story.lanes) next.push(make("li", {}, line));
  for (const wait of story.waits) {
    const when = wait.until ? make("span", { class: "quiet" }, " at " + wait.until.slice(11, 19)) : "";
    next.push(make("li", {}, wait.subject + ": " + wait.then, when));
  }
  if (next.length) made.push(make("h3", {}, "What comes next"), make("ul", {}, ...next));
  made.push(make("h3", {}, "What happened (UTC), the last first"));
  const happened = [...story.happened].reverse().map((one) =>
    make(
      "li",
      { class: one.kind },
      clock(one.last),
      one.text,
      one.detail ? make("span", { class: "detail" }, " [" + one.detail + "]") : "",
      one.count > 1 ? make("span", { class: "times" }, " \u00d7" + one.count) : ""
    )
  );
  if (story.forgotten) happened.push(make("li", { class: "quiet" }, story.forgotten + " more are not remembered"));
  made.push(make("ol", { class: "happened" }, ...happened));
  box.replaceChildren(...made);
  if (storyShown !== chosen) box.scrollTop = 0;
  storyShown = chosen;
}

// --- controls ------------------------------------------------------------------------------------------------------------

document.querySelector("main").addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-uid], tr[data-up]");
  if (!row) return;
  if (row.dataset.uid) choose(row.dataset.uid, true);
  else unfolded.add(row.dataset.up);
  askDraw();
});
narrow.addEventListener("change", askDraw);
at("troubled").checked = narrow.matches;
at("troubled").addEventListener("change", askDraw);
if (isRecord()) {
  openRecord();
} else {
  setInterval(() => tellStory(), 2000);
  listen();
}
