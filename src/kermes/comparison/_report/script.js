"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (event, html) => {
    tip.innerHTML = html;
    tip.style.display = "block";
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const y = event.clientY + 14 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 14;
    tip.style.left = Math.max(4, x) + "px";
    tip.style.top = Math.max(4, y) + "px";
  };
  const hide = () => { tip.style.display = "none"; };
  const escape = text => text.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }[c]));

  // A dot of the map: its picture and its label.
  for (const dot of document.querySelectorAll("g.sample")) {
    const picture = document.getElementById(dot.dataset.picture);
    dot.addEventListener("pointermove", e => show(e, (picture ? picture.innerHTML : "") + "<div>" + escape(dot.dataset.text) + "</div>"));
    dot.addEventListener("pointerleave", hide);
  }

  // A cell of the heat map: which two samples, and how far apart.
  for (const image of document.querySelectorAll("img.heat")) {
    const names = JSON.parse(image.dataset.names);
    const bytes = Uint8Array.from(atob(image.dataset.values), c => c.charCodeAt(0));
    const top = Number(image.dataset.top);
    image.addEventListener("pointermove", e => {
      const box = image.getBoundingClientRect(), n = names.length;
      const i = Math.floor((e.clientY - box.top) / box.height * n), j = Math.floor((e.clientX - box.left) / box.width * n);
      if (i >= 0 && j >= 0 && i < n && j < n) {
        show(e, escape(names[i]) + " and " + escape(names[j]) + ": about " + (bytes[i * n + j] / 255 * top).toPrecision(3));
      }
    });
    image.addEventListener("pointerleave", hide);
  }

  // Folded sections are printed too, and opened by a link to them.
  const sections = document.querySelectorAll("section > details");
  addEventListener("beforeprint", () => { for (const part of sections) part.open = true; });
  addEventListener("hashchange", () => {
    const part = document.querySelector(location.hash + " > details");
    if (part) part.open = true;
  });

  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(button.previousElementSibling.textContent).then(() => { button.textContent = "copied"; });
    });
  }
})();
