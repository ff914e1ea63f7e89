// Shows the buttons of a guide that copy a block of code.
const MARKED_MS = 2000;
const status = document.getElementById("copied");

async function copy(button) {
  const code = button.closest(".code").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent.trimEnd());
    status.textContent = "Copied.";
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), MARKED_MS);
  } catch {
    status.textContent = "Your browser did not allow copying. The code is selected: copy it by hand.";
    getSelection().selectAllChildren(code);
  }
}

for (const button of document.querySelectorAll(".copy")) {
  button.hidden = false;
  button.addEventListener("click", () => void copy(button));
}
