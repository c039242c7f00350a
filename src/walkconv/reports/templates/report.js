"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text; // never markup: names are not ours
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const root = document.documentElement;
  const redraws = [];

  // Light and dark. Without a choice the page follows the system.
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches);
  const themeButton = byId("theme");
  const showTheme = () => {
    themeButton.textContent = isDark() ? "Light" : "Dark";
    themeButton.setAttribute("aria-pressed", String(isDark()));
    themeButton.setAttribute("aria-label", isDark() ? "Change to light colours" : "Change to dark colours");
    redraws.forEach((redraw) => redraw());
  };
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  systemIsDark.addEventListener("change", showTheme);

  // Print in light colours, with everything unfolded.
  let before = null;
  addEventListener("beforeprint", () => {
    const folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((each) => each.setAttribute("open", ""));
    before = { folded, theme: root.dataset.theme };
    root.dataset.theme = "light";
    showTheme();
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    before.folded.forEach((each) => each.removeAttribute("open"));
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    before = null;
    showTheme();
  });

  // The section that is being read.
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watcher = new IntersectionObserver(
    (seen) =>
      seen.forEach((each) => {
        if (!each.isIntersecting) return;
        links.forEach((a) => a.removeAttribute("aria-current"));
        links.get(each.target.id)?.setAttribute("aria-current", "true");
      }),
    { rootMargin: "-15% 0px -75% 0px" },
  );
  document.querySelectorAll("main > section").forEach((each) => watcher.observe(each));

  const data = JSON.parse(byId("map-data").textContent);
  if (data) drawMap(data);
  showTheme();

  function drawMap(map) {
    byId("map").hidden = false;
    const n = map.n_columns;
    const { index, weight, n_listed: listed } = map.neighbors;
    const nameOf = (i) => (map.names ? map.names[i] : `column ${i}`);
    const numberOf = new Map(
      map.names ? map.names.map((name, i) => [name, i]) : map.x.map((_, i) => [String(i), i]),
    );
    const lower = map.names ? map.names.map((name) => name.toLowerCase()) : map.x.map((_, i) => `column ${i}`);
    const extent = { x: Math.max(reduceMax(map.x), 1), y: Math.max(reduceMax(map.y), 1) };
    const canvas = byId("canvas");
    const context = canvas.getContext("2d");
    const tip = byId("tip");
    const steps = 24;
    const MARGIN = 22;
    const longest = 0.12 * Math.max(extent.x, extent.y); // of the thin lines
    let size = { width: 0, height: 0 };
    let view = { scale: 1, x: 0, y: 0 };
    let chosen = -1;
    let hovered = -1;
    const shade = new Uint8Array(n);
    const present = new Uint8Array(n);

    function reduceMax(values) {
      let most = -Infinity;
      for (const value of values) if (value !== null && value > most) most = value;
      return most;
    }

    // Colours: values between the first and the last hundredth, in steps.
    const select = byId("color");
    map.values.forEach((value, i) => select.append(make("option", value.label, { value: i })));
    const minus = (text) => text.replaceAll("-", "\u2212");
    const short = (value) => {
      if (value === null || value === undefined) return "none";
      if (Number.isInteger(value) && Math.abs(value) < 1e7) return minus(value.toLocaleString("en"));
      const isPlain = Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6;
      return minus(isPlain ? String(+value.toPrecision(3)) : value.toExponential(1));
    };
    // "Mean" becomes "mean" in a sentence, but "R²" stays.
    const inside = (label) => (/^[A-Z][a-z]/.test(label) ? label[0].toLowerCase() + label.slice(1) : label);
    function color() {
      const value = map.values[select.value];
      const sorted = value.values.filter((v) => v !== null).sort((a, b) => a - b);
      const low = sorted[Math.floor(0.005 * (sorted.length - 1))] ?? 0;
      const high = sorted[Math.ceil(0.995 * (sorted.length - 1))] ?? 0;
      // Where most values are near the lowest, the rank of a value says more than its size.
      const half = sorted[sorted.length >> 1];
      const isUneven = high > low && (half - low) / (high - low) < 0.03;
      const rank = new Map();
      if (isUneven) {
        const distinct = [...new Set(sorted)];
        distinct.forEach((v, i) => rank.set(v, distinct.length > 1 ? i / (distinct.length - 1) : 0.5));
      }
      value.values.forEach((v, i) => {
        present[i] = v !== null;
        const share = v === null || high <= low ? 0.5 : isUneven ? rank.get(v) : (v - low) / (high - low);
        shade[i] = Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
      });
      const isCut = sorted.length && (sorted[0] < low || sorted[sorted.length - 1] > high);
      byId("low").textContent = (isCut && sorted[0] < low ? "≤ " : "") + short(low);
      byId("high").textContent = (isCut && sorted[sorted.length - 1] > high ? "≥ " : "") + short(high);
      const scale = isUneven ? " Colours go by rank, since the values are very uneven." : "";
      byId("caption").textContent = `Colour: ${inside(value.label)}. ${value.caption}${scale}`;
    }

    // The canvas cannot read variables of the page, so a hidden element reads them.
    const probe = make("span", "", { hidden: "" });
    document.body.append(probe);
    const read = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    let palette = {};
    function readPalette() {
      const ends = [0, 1, 2, 3, 4, 5].map((i) => read(`ramp-${i}`).match(/[\d.]+/g).slice(0, 3).map(Number));
      const ramp = Array.from({ length: steps }, (_, i) => {
        const at = (i / (steps - 1)) * 5;
        const first = Math.min(4, Math.floor(at));
        return `rgb(${ends[first].map((c, k) => Math.round(c + (ends[first + 1][k] - c) * (at - first)))})`;
      });
      const names = ["ink", "soft", "rule", "paper", "raised", "pick"];
      palette = { ramp, ...Object.fromEntries(names.map((name) => [name, read(name)])) };
    }

    function fit() {
      const width = canvas.clientWidth || 600;
      const wanted = (width - 2 * MARGIN) / map.aspect + 2 * MARGIN;
      const height = Math.round(Math.max(260, Math.min(wanted, width * 1.05, 640)));
      const density = Math.max(2, devicePixelRatio || 1); // sharp in print too
      canvas.style.aspectRatio = `${width} / ${height}`; // paper has another width
      canvas.width = Math.round(width * density);
      canvas.height = Math.round(height * density);
      size = { width, height, density };
      wholeMap();
    }
    function wholeMap() {
      const scale = Math.min((size.width - 2 * MARGIN) / extent.x, (size.height - 2 * MARGIN) / extent.y);
      view = {
        scale,
        whole: scale,
        x: (size.width - extent.x * scale) / 2,
        y: (size.height - extent.y * scale) / 2,
      };
    }
    const across = (i) => view.x + map.x[i] * view.scale;
    const down = (i) => view.y + map.y[i] * view.scale;
    function radius() {
      const area = extent.x * extent.y * view.whole * view.whole;
      const whole = Math.max(1.1, Math.min(9, 0.36 * Math.sqrt(area / n)));
      return Math.min(14, whole * Math.sqrt(view.scale / view.whole));
    }

    function draw() {
      readPalette();
      const r = radius();
      context.setTransform(size.density, 0, 0, size.density, 0, 0);
      context.clearRect(0, 0, size.width, size.height);
      if (n * (view.scale / view.whole) < 4000 || n <= 3000) drawLinks();
      const isFar = chosen >= 0;
      const groups = Array.from({ length: steps }, () => []);
      const none = [];
      for (let i = 0; i < n; i++) {
        const x = across(i);
        const y = down(i);
        if (x < -r || y < -r || x > size.width + r || y > size.height + r) continue;
        (present[i] ? groups[shade[i]] : none).push(i);
      }
      context.globalAlpha = isFar ? 0.55 : 1;
      const fill = (members, style) => {
        context.fillStyle = style;
        context.beginPath();
        for (const i of members) {
          if (r < 1.5) context.rect(across(i) - r, down(i) - r, 2 * r, 2 * r);
          else {
            context.moveTo(across(i) + r, down(i));
            context.arc(across(i), down(i), r, 0, 7);
          }
        }
        context.fill();
      };
      fill(none, palette.rule);
      groups.forEach((members, k) => members.length && fill(members, palette.ramp[k]));
      context.globalAlpha = 1;
      if (chosen >= 0) drawChosen(r);
      else if (n <= 60 || groups.flat().length <= 40) drawNames(groups.flat(), r);
      if (hovered >= 0 && hovered !== chosen) ring(hovered, r + 2, palette.ink, 1.5);
    }
    function drawLinks() {
      context.strokeStyle = palette.soft;
      context.globalAlpha = 0.22;
      context.lineWidth = 0.7;
      context.beginPath();
      for (let i = 0; i < n; i++)
        for (let k = 1; k < Math.min(3, listed); k++) {
          const other = index[i * listed + k];
          if (other < 0 || other === i) continue;
          if (Math.hypot(map.x[i] - map.x[other], map.y[i] - map.y[other]) > longest) continue;
          context.moveTo(across(i), down(i));
          context.lineTo(across(other), down(other));
        }
      context.stroke();
      context.globalAlpha = 1;
    }
    function ring(i, r, style, width) {
      context.strokeStyle = style;
      context.lineWidth = width;
      context.beginPath();
      context.arc(across(i), down(i), r, 0, 7);
      context.stroke();
    }
    function neighborsOf(i) {
      const found = [];
      for (let k = 0; k < listed; k++) {
        const other = index[i * listed + k];
        if (other >= 0) found.push({ slot: k, other, weight: weight[i * listed + k] });
      }
      return found;
    }
    function drawChosen(r) {
      const found = neighborsOf(chosen).filter((each) => each.other !== chosen);
      const most = reduceMax(found.map((each) => Math.abs(each.weight))) || 1;
      for (const { other, weight: w } of found) {
        context.strokeStyle = palette.pick;
        context.lineWidth = 0.8 + 2.2 * (Math.abs(w) / most);
        context.setLineDash(w < 0 ? [4, 3] : []);
        context.beginPath();
        context.moveTo(across(chosen), down(chosen));
        context.lineTo(across(other), down(other));
        context.stroke();
      }
      context.setLineDash([]);
      const dot = Math.max(r, 4);
      for (const { other } of found) {
        context.fillStyle = present[other] ? palette.ramp[shade[other]] : palette.rule;
        context.beginPath();
        context.arc(across(other), down(other), dot, 0, 7);
        context.fill();
        ring(other, dot, palette.pick, 1.4);
      }
      context.fillStyle = palette.pick;
      context.beginPath();
      context.arc(across(chosen), down(chosen), dot + 1.5, 0, 7);
      context.fill();
      drawNames([chosen, ...found.map((each) => each.other)], dot);
    }
    // Names that do not cover each other, the first ones first.
    function drawNames(members, r) {
      const taken = [];
      context.font = "12px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.lineJoin = "round";
      members.forEach((i, place) => {
        const full = nameOf(i);
        const text = full.length > 26 ? `${full.slice(0, 25)}…` : full;
        const width = context.measureText(text).width;
        const isRight = across(i) + r + 5 + width < size.width;
        const box = { x: isRight ? across(i) + r + 5 : across(i) - r - 5 - width, y: down(i) - 8, w: width, h: 16 };
        if (box.x < 0 || down(i) < 0 || down(i) > size.height) return;
        const covers = (b) => box.x < b.x + b.w && b.x < box.x + box.w && box.y < b.y + b.h && b.y < box.y + box.h;
        if (taken.some(covers)) return;
        taken.push(box);
        context.strokeStyle = palette.raised;
        context.lineWidth = 4;
        context.strokeText(text, box.x, down(i));
        context.fillStyle = place === 0 && chosen >= 0 ? palette.pick : palette.ink;
        context.fillText(text, box.x, down(i));
      });
    }

    let isWaiting = false;
    const redraw = () => {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(() => {
        isWaiting = false;
        draw();
      });
    };
    redraws.push(draw);

    // The panel of the chosen column.
    function choose(i, { center = false } = {}) {
      chosen = i;
      byId("hint").hidden = i >= 0;
      const box = byId("chosen");
      box.hidden = i < 0;
      box.replaceChildren();
      if (i < 0) {
        byId("told").textContent = "No column is chosen.";
        return redraw();
      }
      if (center) bring(i);
      box.append(make("h3", nameOf(i)));
      const facts = make("dl");
      map.values.forEach((value) => facts.append(make("dt", value.label), make("dd", short(value.values[i]))));
      box.append(facts);
      const found = neighborsOf(i);
      const least = Math.min(...found.map((each) => Math.abs(each.weight)).filter((w) => w > 0));
      const decimals = Number.isFinite(least) ? Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(least)))) : 0;
      const table = make("table");
      const head = make("tr");
      [map.offsets ? "Step" : "Rank", "Neighbour", "Weight"].forEach((text) => head.append(make("th", text, { scope: "col" })));
      const top = make("thead");
      top.append(head);
      const body = make("tbody");
      for (const { slot, other, weight: w } of found) {
        const line = make("tr");
        const button = make("button", other === i ? "itself" : nameOf(other), { type: "button" });
        button.addEventListener("click", () => choose(other));
        const cell = make("td");
        cell.append(button);
        line.append(make("td", map.offsets ? minus(`(${map.offsets[slot].join(", ")})`) : String(slot + 1)), cell);
        line.append(make("td", minus(w.toFixed(decimals))));
        body.append(line);
      }
      table.append(make("caption", "Neighbours, as a filter reads them", { class: "hidden" }), top, body);
      box.append(table);
      const n_more = map.neighbors.n_neighbors - listed;
      if (n_more > 0) box.append(make("p", `and ${n_more} more`, { class: "soft small" }));
      box.append(
        make("p", "Weight: expected visits of the random walk. Negative: the columns are related with the opposite sign.", { class: "soft small" }),
      );
      if (map.groups) {
        const same = map.groups.flatMap((group, j) => (group === map.groups[i] && j !== i ? [nameOf(j)] : []));
        box.append(make("p", same.length ? `Pooled with ${same.slice(0, 12).join(", ")}` : "Pooled alone", { class: "small" }));
      }
      const others = found.filter((each) => each.other !== i).slice(0, 3).map((each) => nameOf(each.other));
      byId("told").textContent = `${nameOf(i)}. Neighbours: ${others.join(", ") || "none"}.`;
      redraw();
    }
    function bring(i) {
      const x = across(i);
      const y = down(i);
      if (x > 20 && y > 20 && x < size.width - 20 && y < size.height - 20) return;
      view.x += size.width / 2 - x;
      view.y += size.height / 2 - y;
    }

    function nearest(x, y, reach = 16) {
      let best = -1;
      let least = Math.max(reach, radius() + 2) ** 2;
      for (let i = 0; i < n; i++) {
        const gap = (across(i) - x) ** 2 + (down(i) - y) ** 2;
        if (gap < least) [best, least] = [i, gap];
      }
      return best;
    }
    const placeOf = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    function hover(i, x = 0, y = 0) {
      if (i !== hovered) {
        hovered = i;
        redraw();
      }
      tip.hidden = i < 0;
      if (i < 0) return;
      const value = map.values[select.value];
      tip.textContent = `${nameOf(i)} · ${inside(value.label)} ${short(value.values[i])}`;
      tip.style.left = `${Math.max(4, Math.min(x + 14, size.width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(4, y + 14 + tip.offsetHeight > size.height ? y - tip.offsetHeight - 10 : y + 14)}px`;
    }
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      const [x, y] = placeOf(event);
      drag = { x, y, from: { ...view }, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = placeOf(event);
      if (!drag) return hover(nearest(x, y), x, y);
      if (Math.hypot(x - drag.x, y - drag.y) > 4) drag.moved = true;
      if (drag.moved) {
        view.x = drag.from.x + x - drag.x;
        view.y = drag.from.y + y - drag.y;
        hover(-1);
        redraw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const wasDrag = drag?.moved;
      drag = null;
      if (!wasDrag) choose(nearest(...placeOf(event)));
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("pointerleave", () => hover(-1));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
        event.preventDefault();
        zoom(Math.exp(-event.deltaY / 200), ...placeOf(event));
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", (event) => {
      event.preventDefault();
      zoom(2, ...placeOf(event));
    });
    function zoom(factor, x = size.width / 2, y = size.height / 2) {
      const scale = Math.max(view.whole * 0.6, Math.min(view.whole * 60, view.scale * factor));
      view.x = x - ((x - view.x) * scale) / view.scale;
      view.y = y - ((y - view.y) * scale) / view.scale;
      view.scale = scale;
      redraw();
    }
    const middle = () => (chosen >= 0 ? [across(chosen), down(chosen)] : [size.width / 2, size.height / 2]);
    byId("closer").addEventListener("click", () => zoom(1.6, ...middle()));
    byId("farther").addEventListener("click", () => zoom(1 / 1.6, ...middle()));
    byId("whole").addEventListener("click", () => {
      wholeMap();
      redraw();
    });
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (ways[event.key]) step(...ways[event.key]);
      else if (event.key === "+" || event.key === "=") zoom(1.6, ...middle());
      else if (event.key === "-") zoom(1 / 1.6, ...middle());
      else if (event.key === "0") {
        wholeMap();
        redraw();
      } else if (event.key === "Escape") choose(-1);
      else return;
      event.preventDefault();
    });
    // The nearest column within a right angle about the way of the arrow.
    function step(wayX, wayY) {
      if (chosen < 0) return choose(nearest(size.width / 2, size.height / 2, Infinity), { center: true });
      let best = -1;
      let least = Infinity;
      for (let i = 0; i < n; i++) {
        const x = map.x[i] - map.x[chosen];
        const y = map.y[i] - map.y[chosen];
        const ahead = x * wayX + y * wayY;
        const aside = Math.abs(x * wayY) + Math.abs(y * wayX);
        if (ahead <= 0 || aside > ahead) continue;
        const cost = ahead + 2 * aside;
        if (cost < least) [best, least] = [i, cost];
      }
      if (best >= 0) choose(best, { center: true });
    }

    // Search, as a combobox.
    const input = byId("search");
    const list = byId("found");
    const MOST = 10;
    let options = [];
    let active = -1;
    function search() {
      const wanted = input.value.trim().toLowerCase();
      options = [];
      active = -1;
      list.replaceChildren();
      if (!wanted) return close();
      const first = [];
      const later = [];
      lower.forEach((name, i) => {
        const at = name.indexOf(wanted);
        if (at === 0) first.push(i);
        else if (at > 0) later.push(i);
      });
      const all = [...first, ...later];
      options = all.slice(0, MOST);
      options.forEach((i, place) => {
        const option = make("li", nameOf(i), { role: "option", id: `option-${place}`, "aria-selected": "false" });
        option.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          take(place);
        });
        list.append(option);
      });
      if (!all.length) list.append(make("li", "No column has this in its name.", { class: "soft" }));
      if (all.length > MOST) list.append(make("li", `and ${(all.length - MOST).toLocaleString("en")} more`, { class: "soft" }));
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
    }
    function close() {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }
    function mark(place) {
      active = place;
      [...list.querySelectorAll("[role=option]")].forEach((option, k) =>
        option.setAttribute("aria-selected", String(k === place)),
      );
      input.setAttribute("aria-activedescendant", `option-${place}`);
    }
    function take(place) {
      const i = options[place];
      input.value = nameOf(i);
      close();
      choose(i, { center: true });
    }
    input.addEventListener("input", search);
    input.addEventListener("focus", () => input.value && search());
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" && options.length) mark((active + 1) % options.length);
      else if (event.key === "ArrowUp" && options.length) mark((active - 1 + options.length) % options.length);
      else if (event.key === "Enter" && options.length) take(Math.max(active, 0));
      else if (event.key === "Escape") {
        input.value = "";
        close();
        choose(-1);
      } else return;
      event.preventDefault();
    });

    // Names elsewhere on the page lead to the map.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("[data-column]");
      if (link && numberOf.has(link.dataset.column)) choose(numberOf.get(link.dataset.column), { center: true });
    });
    select.addEventListener("change", () => {
      color();
      redraw();
    });
    color();
    fit();
    new ResizeObserver(() => {
      if (canvas.clientWidth && canvas.clientWidth !== size.width) {
        fit();
        draw();
      }
    }).observe(canvas);
  }
})();
