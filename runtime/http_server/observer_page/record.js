// Moves along a record: a slider instead of the stream, and the time of the moment instead of that of the clock.
"use strict";

const STEP_MS = 1000;
const SETTLES_MS = 120;
let moment = 0;
let shownMoment = 0;
let momentAsked = 0;
let asking = false;

const isRecord = () => document.body.classList.contains("of-record");

function now() {
  return moment || Date.now();
}

function homeOfStory() {
  return moment ? "ui/moments/" + moment + "/pods/" : "ui/pods/";
}

function timeOf(ms) {
  return new Date(ms).toISOString().replace("T", " ").slice(0, 19);
}

async function openRecord() {
  at("record").hidden = false;
  const answer = await fetch(HOME + "ui/record", { credentials: "same-origin" });
  const span = await answer.json();
  const slider = at("moment");
  slider.min = 0;
  slider.max = Math.max(1, Math.ceil((span.to - span.from) / STEP_MS));
  slider.value = slider.max;
  write(at("record-from"), timeOf(span.from) + " UTC");
  write(at("record-to"), timeOf(span.to) + " UTC");
  const move = () => {
    moment = Math.min(span.to, span.from + slider.value * STEP_MS);
    write(at("moment-of"), timeOf(moment) + " UTC");
    slider.ariaValueText = timeOf(moment) + " UTC";
    const asked = ++momentAsked;
    // Whoever drags the slider passes many moments; only where it rests is asked for.
    setTimeout(() => asked === momentAsked && showMoment(), SETTLES_MS);
  };
  slider.addEventListener("input", move);
  for (const button of document.querySelectorAll("#record button")) {
    button.addEventListener("click", () => {
      slider.value = Number(slider.value) + Number(button.dataset.by);
      move();
    });
  }
  move();
}

async function showMoment() {
  if (asking) return;
  asking = true;
  linked("playing", "busy");
  try {
    while (shownMoment !== moment) {
      const wanted = moment;
      const answer = await fetch(HOME + "ui/moments/" + wanted, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(await answer.text());
      const told = await answer.json();
      shownMoment = wanted;
      parts.clear();
      for (const [key, part] of Object.entries(told.parts)) parts.set(key, part);
    }
    linked("recorded", "good");
    askDraw();
    if (parts.has("pod/" + chosen)) tellStory(true);
    else clearStory();
    drawAges();
  } catch (error) {
    linked("no answer", "bad");
    shownMoment = 0;
  } finally {
    asking = false;
  }
}
