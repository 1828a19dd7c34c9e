// Draws sockets, NUMA nodes and CPUs, and which pods have them. `observer.js` calls `drawShares` and gives the tools.
"use strict";

const HUES = 8;
const STATES = { reserved: "reserved for the system", shared: "shared by all others" };

// A pod keeps its colour while it is there: others come and go.
const hues = new Map();
function hueOf(uid) {
  if (!hues.has(uid)) {
    const taken = new Set(hues.values());
    const free = [...Array(HUES).keys()].find((hue) => !taken.has(hue));
    hues.set(uid, free === undefined ? hues.size % HUES : free);
  }
  return "hue" + hues.get(uid);
}

function nameOf(uid) {
  const pod = parts.get("pod/" + uid);
  return pod ? pod.namespace + "/" + pod.name : "pod " + uid;
}

function amount(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let size = bytes;
  let unit = 0;
  for (; size >= 1024 && unit < units.length - 1; unit += 1) size /= 1024;
  return (unit && size % 1 ? size.toFixed(1) : String(size)) + " " + units[unit];
}

function drawShares() {
  const nodes = of("numa").sort(([a], [b]) => a - b);
  const holders = of("share");
  at("shares-box").hidden = !nodes.length;
  if (!nodes.length) return;
  for (const uid of hues.keys()) if (!parts.has("share/" + uid)) hues.delete(uid);
  for (const [uid] of holders) hueOf(uid);
  const names = holders.map(([uid]) => nameOf(uid));
  const states = new Set(nodes.flatMap(([, node]) => cpusOf(node).map((cpu) => cpu.state)));
  place(at("shares-legend"), [...states].sort(), () => legend(states));
  place(at("sockets"), [nodes, names], () => socketsOf(nodes).map(([number, within]) => socketBox(number, within)));
  at("holders").hidden = !holders.length;
  place(at("holders").tBodies[0], [holders, names], () => holders.flatMap(([uid, containers]) => holderRows(uid, containers)));
}

function cpusOf(node) {
  return node.sockets.flatMap((socket) => socket.cores.flat());
}

function legend(states) {
  const words = Object.entries(STATES).filter(([state]) => states.has(state));
  const made = words.map(([state, text]) => make("li", {}, make("span", { class: "cpu " + state }), text));
  return states.has("given") ? [make("li", {}, make("span", { class: "cpu given hue0" }), "of one pod alone"), ...made] : made;
}

// [socket, its NUMA nodes]; nodes that have only memory come last, without a socket.
function socketsOf(nodes) {
  const found = new Map();
  for (const [number, node] of nodes) {
    const within = node.sockets.length ? node.sockets : [{ number: "", cores: [] }];
    within.forEach((socket, place) => {
      if (!found.has(socket.number)) found.set(socket.number, []);
      found.get(socket.number).push({ number, cores: socket.cores, memory: place ? [] : node.memory });
    });
  }
  return [...found].sort(([a], [b]) => (a === "") - (b === "") || a - b);
}

function socketBox(number, nodes) {
  const title = number === "" ? "Memory only" : "Socket " + number;
  return make("div", { class: "socket" }, make("h3", {}, title), make("div", { class: "numa-nodes" }, ...nodes.map(numaBox)));
}

function numaBox({ number, cores, memory }) {
  const boxes = cores.map((core) => make("span", { class: "core" }, ...core.map(cpuBox)));
  return make(
    "div",
    { class: "numa" },
    make("h4", {}, "NUMA node " + number),
    make("div", { class: "cores" }, ...boxes),
    ...memory.map(memoryBar)
  );
}

function cpuBox(cpu) {
  const words = cpu.pod ? nameOf(cpu.pod) : STATES[cpu.state];
  const title = "CPU " + cpu.cpu + ": " + words;
  const kind = "cpu " + cpu.state + (cpu.pod ? " " + hueOf(cpu.pod) : "");
  return make("span", { class: kind, title, role: "img", "aria-label": title }, String(cpu.cpu));
}

function memoryBar(one) {
  const text = amount(one.given) + " of " + amount(one.most) + " of " + one.kind + " given";
  const bar = make("meter", { min: 0, max: one.most, value: one.given, "aria-label": text });
  return make("div", { class: "memory" }, bar, make("span", { class: "quiet" }, text));
}

function holderRows(uid, containers) {
  return containers.map((one, row) => {
    const button = make("button", { type: "button", "data-key": "holder " + uid }, nameOf(uid));
    const name = row ? [] : [make("span", { class: "cpu given " + hueOf(uid), "aria-hidden": "true" }), button];
    const memory = one.memory.map((block) => amount(block.bytes) + " of " + block.kind + " on NUMA node " + block.nodes.join(", "));
    return make(
      "tr",
      { "data-uid": uid },
      make("td", { class: "name" }, ...name),
      make("td", {}, one.name),
      make("td", {}, one.cpus || "shared"),
      make("td", {}, memory.join("; "))
    );
  });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("#holders button");
  if (!button) return;
  choose(button.closest("tr").dataset.uid, true);
  askDraw();
});
