// A button on each block of code copies it: of a terminal, the commands without their prompts and answers.
// And options, like other short code, are not broken at their hyphens.
document.addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll("article code")) {
    code.classList.toggle("short", code.textContent.length < 24);
  }
  for (const block of document.querySelectorAll("article div.highlight")) {
    const pre = block.querySelector("pre");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    unbroken(pre);
    button.addEventListener("click", async () => {
      const lines = pre.textContent.trimEnd().split("\n");
      const typed = lines.filter((line) => line.startsWith("$ "));
      const text = typed.length ? typed.map((line) => line.slice(2)) : lines;
      try {
        await navigator.clipboard.writeText(text.join("\n"));
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});

function unbroken(pre) {
  const walker = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const parts = node.data.split(/(--[a-z][\w-]*)/);
    if (parts.length === 1) continue;
    const made = parts.map((part, number) => {
      if (number % 2 === 0) return document.createTextNode(part);
      const span = document.createElement("span");
      span.className = "option";
      span.textContent = part;
      return span;
    });
    node.replaceWith(...made);
  }
}
