import { render, type ComponentChild } from "preact";
import { ThemeChoice } from "../parts/theme-choice";
import { chosenTheme, onColours } from "../theme";
import type { ReferenceDocument } from "./parts";

const SYSTEM_DARK = matchMedia("(prefers-color-scheme: dark)");

/** Swagger UI uses its dark colours if the page has the class `dark-mode`. */
function applyTheme(): void {
  const theme = chosenTheme.get();
  const isDark = theme === "system" ? SYSTEM_DARK.matches : theme === "dark";
  document.documentElement.classList.toggle("dark-mode", isDark);
}

/** Resolves when the browser has drawn the text of the page, so that the large script does not delay the text. */
function drawn(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

async function readDocument(): Promise<ReferenceDocument> {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  return (await answer.json()) as ReferenceDocument;
}

/** Shows the details of all calls below the list of the calls. */
async function loadDetails(place: HTMLElement): Promise<void> {
  const say = (words: ComponentChild): void => render(<p role="status">{words}</p>, place);
  say("The details are loading.");
  await drawn();
  try {
    const [{ showDetails }, spec] = await Promise.all([import("./details"), readDocument()]);
    const open = await showDetails(place, spec);
    say("");
    document.querySelector(".calls")?.addEventListener("click", ({ target }) => {
      const link = target instanceof Element ? target.closest("a") : null;
      if (link !== null) open(link.hash);
    });
  } catch {
    say(
      <>
        The details cannot be loaded. <a href="docs">Load the page again</a>, or read them in{" "}
        <a href="openapi.json">openapi.json</a>.
      </>,
    );
  }
}

applyTheme();
onColours(applyTheme);
const header = document.querySelector("#theme-choice");
if (header !== null) render(<ThemeChoice />, header);
const place = document.querySelector<HTMLElement>("#details");
if (place !== null) void loadDetails(place);
