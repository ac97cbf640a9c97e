"use strict";
// Enhances pages that work without it: drafts that survive a reload, saves that
// are retried with the same key, new entries without a reload, search as you
// type, and a map that arrow keys walk. Text only ever enters as text.
(() => {
  const root = document.documentElement;
  const base = root.dataset.base;

  // get fetches a page as a document. Scripts in it don't run.
  const get = (method, url, body) => new Promise((good, bad) => {
    const x = new XMLHttpRequest();
    x.open(method, url);
    x.responseType = "document";
    x.timeout = 30000;
    if (body) x.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
    x.onload = () => good({ status: x.status, url: x.responseURL, page: x.response });
    x.onerror = x.ontimeout = () => bad(new Error("no answer"));
    x.send(body || null);
  });

  const make = (tag, text, attributes = {}) => {
    const e = document.createElement(tag);
    e.textContent = text;
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    return e;
  };

  const login = document.querySelector("[data-login]");
  if (login) {
    const enter = () => {
      const code = location.hash.slice(1);
      if (!code) return;
      history.replaceState(null, "", location.pathname);
      login.elements.code.value = code;
      login.submit();
    };
    enter();
    addEventListener("hashchange", enter); // the link, pasted into a tab that shows this page
    return;
  }
  if (!base) return;

  // --- messages

  const say = (text) => {
    const p = make("p", text, { class: "said" });
    document.getElementById("says").replaceChildren(p);
  };

  const alerts = new Map();
  const alertWith = (name, text, ...more) => {
    if (alerts.get(name)?.dataset.text === text) return;
    settle(name);
    const p = make("p", text, { class: "banner bad toast", "data-text": text });
    p.append(...more);
    alerts.set(name, p);
    document.getElementById("alerts").append(p);
  };
  const settle = (name) => { alerts.get(name)?.remove(); alerts.delete(name); };

  // --- drafts, kept in this tab

  const slot = (form) => `draft ${root.dataset.ledger} ${form}`;
  const store = {
    get(form) { try { return JSON.parse(sessionStorage.getItem(slot(form))); } catch { return null; } },
    set(form, v) { try { sessionStorage.setItem(slot(form), JSON.stringify(v)); } catch { /* a full store: the page itself still has it */ } },
    drop(form) { try { sessionStorage.removeItem(slot(form)); } catch { /* nothing to drop */ } },
  };
  const fresh = new Set(["token"]); // not of the draft

  const values = (form) => {
    const out = {};
    for (const [k, v] of new FormData(form)) if (!fresh.has(k)) out[k] = v;
    return out;
  };

  const fill = (form, draft) => {
    let different = false;
    for (const e of form.elements) {
      if (!e.name || fresh.has(e.name)) continue;
      if (e.type === "radio" || e.type === "checkbox") {
        const on = draft[e.name] === e.value;
        different ||= on !== e.checked;
        e.checked = on;
      } else if (draft[e.name] !== undefined) {
        different ||= e.type !== "hidden" && e.value.replace(/\r\n/g, "\n") !== draft[e.name].replace(/\r\n/g, "\n");
        e.value = draft[e.name];
      }
    }
    return different;
  };

  const newKey = () => [...crypto.getRandomValues(new Uint8Array(32))].map((b) => b.toString(16).padStart(2, "0")).join("");

  const wireDrafts = (where) => {
    for (const form of where.querySelectorAll("form[data-draft]")) {
      const name = form.dataset.draft;
      const original = values(form);
      const draft = store.get(name);
      if (draft && !document.querySelector("section.banner.bad[role=alert]") && fill(form, draft)) {
        const drop = make("button", "Discard it", { type: "button", class: "small" });
        drop.onclick = () => { store.drop(name); fill(form, original); settle("draft"); form.querySelector("textarea").focus(); };
        alertWith("draft", "Your unsaved draft was brought back. ", drop);
      }
      let tried = "";
      form.addEventListener("trying", () => { tried = form.elements.key.value; });
      form.addEventListener("input", () => {
        // What was tried may have been saved: another content is another save.
        if (tried && tried === form.elements.key.value) form.elements.key.value = newKey();
        store.set(name, values(form));
      });
    }
    for (const e of where.querySelectorAll("[data-discard]")) {
      e.addEventListener("click", () => store.drop(e.dataset.discard || e.closest("form").dataset.draft));
    }
    for (const form of where.querySelectorAll("form[data-kept]")) store.set(form.dataset.kept, values(form));
  };

  // --- saving: an uncertain answer is retried with the same key

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  const send = async (form, button) => {
    const data = new URLSearchParams(new FormData(form));
    if (button?.name) data.set(button.name, button.value);
    const body = data.toString();
    form.dispatchEvent(new Event("trying"));
    form.setAttribute("aria-busy", "true");
    const buttons = [...form.querySelectorAll("button")];
    for (const b of buttons) b.disabled = true;
    let stop = false;
    let answer = null;
    for (let wait = 500; !answer && !stop; wait = Math.min(wait * 2, 8000)) {
      try {
        answer = await get("POST", form.getAttribute("action"), body);
      } catch {
        const quit = make("button", "Stop trying", { type: "button", class: "small" });
        quit.onclick = () => { stop = true; };
        alertWith("sending", "No answer from Holdfast. It may be saved or not: the same save is tried again, and is never made twice. Your text stays here. ", quit);
        await pause(wait);
      }
    }
    form.removeAttribute("aria-busy");
    for (const b of buttons) b.disabled = false;
    settle("sending");
    if (!answer) {
      alertWith("sending", "Not sent. Your draft is kept in this tab. If the view has ended, start holdfast view again.");
      return;
    }
    settled(form, answer);
  };

  const settled = (form, answer) => {
    const name = form.dataset.draft || form.dataset.kept;
    if (answer.status < 300) {
      if (name) store.drop(name);
      location.assign(answer.url);
      return;
    }
    if (answer.status === 401 || !answer.page?.getElementById("where")) {
      settle("server");
      const why = answer.status === 401 ? "This page's session has ended. Your draft is kept in this tab. Open the link from the terminal again." : answer.page?.querySelector("main p")?.textContent;
      alertWith("sending", why || "That could not be saved. Your draft is kept in this tab.");
      return;
    }
    const main = document.importNode(answer.page.getElementById("main"), true);
    document.getElementById("main").replaceWith(main);
    document.title = answer.page.title;
    for (const k of ["revision", "recovery"]) root.dataset[k] = answer.page.documentElement.dataset[k];
    alerts.clear();
    wire(main);
    main.focus();
    scrollTo(0, 0);
  };

  const wireForms = (where) => {
    for (const form of where.querySelectorAll('form[method="post"]')) {
      form.addEventListener("submit", (e) => {
        e.preventDefault();
        if (form.getAttribute("aria-busy") !== "true") send(form, e.submitter);
      });
    }
  };

  // --- new entries without a reload

  // patch brings what is marked live in line with a newer page, piece by piece.
  const patch = (page) => {
    for (const now of page.querySelectorAll("[data-live]")) {
      const old = document.getElementById(now.id);
      if (old && old.innerHTML !== now.innerHTML && !old.contains(document.activeElement)) {
        const put = document.importNode(now, true);
        old.replaceWith(put);
        wireForms(put);
      }
    }
    let added = 0;
    for (const now of page.querySelectorAll("[data-list]")) {
      const old = document.getElementById(now.id);
      if (old) added += patchList(old, now);
    }
    for (const input of document.querySelectorAll('form[method="post"]:not([data-draft]):not([data-kept]) > input[name="key"]')) input.value = newKey();
    return added;
  };

  const patchList = (old, now) => {
    let added = 0;
    const have = new Map([...old.children].map((e) => [e.dataset.key, e]));
    let at = old.firstElementChild;
    for (const item of now.children) {
      const is = have.get(item.dataset.key);
      have.delete(item.dataset.key);
      if (is && (is.dataset.rev === item.dataset.rev || is.contains(document.activeElement))) {
        if (is === at) at = at.nextElementSibling; else old.insertBefore(is, at);
        continue;
      }
      const put = document.importNode(item, true);
      put.classList.add("fresh");
      if (is) { if (is === at) at = at.nextElementSibling; is.replaceWith(put); } else old.insertBefore(put, at);
      added++;
    }
    for (const gone of have.values()) if (!gone.contains(document.activeElement)) gone.remove();
    return added;
  };

  let looking = false;
  const refresh = async () => {
    if (looking || !document.querySelector("[data-live]")) return;
    looking = true;
    try {
      const a = await get("GET", location.href);
      if (a.status < 300 && a.page) {
        const added = patch(a.page);
        if (added && document.querySelector("[data-list]")) say(added === 1 ? "1 new entry." : `${added} new entries.`);
      }
    } catch { /* the stream says that the server is gone */ }
    looking = false;
  };

  const listen = () => {
    const stream = new EventSource(base + "events");
    let lost = 0;
    stream.onmessage = (m) => {
      clearTimeout(lost);
      settle("server");
      const h = JSON.parse(m.data);
      if (h.trouble) { alertWith("trouble", h.trouble); return; }
      settle("trouble");
      const seen = root.dataset;
      const form = document.querySelector("form[data-draft]");
      if (h.recovery !== seen.recovery && form) alertWith("recovered", "The ledger was recovered since this page was opened. Your draft is kept as it is; saving it shows what stands there now first.");
      if (h.branch !== seen.branch) {
        if (form) alertWith("branch", `The branch was switched to ${h.branch || "none"} meanwhile. Your draft is kept; saving it saves on that branch.`);
        else say(`Branch ${h.branch || "none"}.`);
      }
      const changed = String(h.revision) !== seen.revision || h.branch !== seen.branch || h.commit !== seen.commit || h.recovery !== seen.recovery;
      Object.assign(seen, { revision: h.revision, branch: h.branch, commit: h.commit, recovery: h.recovery });
      if (changed) refresh();
    };
    stream.onerror = () => {
      clearTimeout(lost);
      lost = setTimeout(() => alertWith("server", "Holdfast does not answer any more. What you typed is kept in this tab. Start holdfast view again to go on."), 1500);
    };
  };

  // --- search as you type

  const wireSearch = (where) => {
    const form = where.querySelector("form[data-search]");
    if (!form) return;
    let timer = 0;
    let turn = 0;
    const look = async () => {
      const mine = ++turn;
      const url = `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
      try {
        const a = await get("GET", `${url}&typing=1`);
        const results = a.page?.getElementById("results");
        if (mine !== turn || !results) return; // an older answer than the newest question
        document.getElementById("found").textContent = results.querySelector("#found").textContent;
        const keep = document.getElementById("found");
        const put = document.importNode(results, true);
        put.querySelector("#found").replaceWith(keep);
        document.getElementById("results").replaceWith(put);
        history.replaceState(null, "", url);
      } catch { /* the stream says that the server is gone */ }
    };
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, 120); });
    form.addEventListener("submit", (e) => { e.preventDefault(); look(); });
  };

  // --- the map

  const wireMap = (where) => {
    const map = where.querySelector("[data-map]");
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    map?.addEventListener("keydown", (e) => {
      const way = ways[e.key];
      const at = e.target.closest(".node");
      if (!way || !at) return;
      e.preventDefault();
      let best = null;
      let least = Infinity;
      for (const n of map.querySelectorAll(".node")) {
        const dx = n.dataset.x - at.dataset.x;
        const dy = n.dataset.y - at.dataset.y;
        const along = dx * way[0] + dy * way[1];
        const across = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
        if (n !== at && along > 0 && along + 2 * across < least) { best = n; least = along + 2 * across; }
      }
      best?.focus();
      best?.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    map?.querySelector(".focus")?.scrollIntoView({ block: "nearest", inline: "center" });
  };

  // --- the slider over revisions

  const wireSlider = (where) => {
    const form = where.querySelector("form[data-slider]");
    if (!form) return;
    const slide = form.querySelector("[type=range]");
    const number = form.elements.at;
    const told = form.querySelector("output");
    let timer = 0;
    const look = async () => {
      try {
        const a = await get("GET", `${base}timeline?before=${Number(number.value) + 1}`);
        const entry = a.page?.querySelector(".entry .what, .entry p");
        const line = a.page?.querySelector(".entry p");
        if (line) told.textContent = line.textContent.trim() + (entry && entry !== line ? ": " + entry.textContent : "");
      } catch { /* the stream says that the server is gone */ }
    };
    const later = () => { clearTimeout(timer); timer = setTimeout(look, 150); };
    slide.closest("p").hidden = false;
    slide.addEventListener("input", () => { number.value = slide.value; later(); });
    number.addEventListener("input", () => { slide.value = number.value; later(); });
    look();
  };

  const wire = (where) => { wireSlider(where); wireDrafts(where); wireForms(where); wireSearch(where); wireMap(where); };
  wire(document);
  listen();
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      e.preventDefault();
      document.getElementById("top-q").focus();
    }
  });
})();
