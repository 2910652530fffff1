/* What a page cannot do without a script, and nothing more; every page works with scripts off.

   data-copy="#id"   a button that copies the text of that element
   data-print        a button that prints the page
   data-key="a"      a link, button or field that the key reaches while nobody types
   data-open="#id"   a button that opens all <details> inside that element, or closes them */

"use strict";

(() => {
    const said = (button, word) => {
        const before = button.dataset.label || button.textContent;
        button.dataset.label = before;
        button.textContent = word;
        setTimeout(() => { button.textContent = before; }, 1500);
    };

    const select = (element) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const selection = getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
    };

    const copy = async (button) => {
        const source = document.querySelector(button.dataset.copy);
        if (!source) return;
        try {
            await navigator.clipboard.writeText(source.textContent);
            said(button, "Copied");
        } catch {  // plain HTTP has no clipboard
            select(source);
            said(button, "Selected");
        }
    };

    const toggle = (button) => {
        const inside = [...document.querySelectorAll(`${button.dataset.open} details`)];
        const open = inside.some((one) => !one.open);
        inside.forEach((one) => { one.open = open; });
    };

    document.addEventListener("click", (event) => {
        const button = event.target.closest("[data-copy], [data-print], [data-open]");
        if (!button) return;
        if (button.dataset.copy) copy(button);
        else if (button.dataset.open) toggle(button);
        else window.print();
    });

    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
        if (event.target.closest("input, textarea, select, [contenteditable]")) return;
        const meant = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
        if (!meant) return;
        event.preventDefault();
        if (meant.matches("a, button, summary")) meant.click();
        else meant.focus();
    });
})();
