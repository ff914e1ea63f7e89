import { createStore } from "./store";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

function readTheme(): Theme {
  return THEMES.find((each) => each === document.documentElement.dataset["theme"]) ?? "system";
}

/** The chosen theme. theme.js applies the saved theme before the first paint. */
export const chosenTheme = createStore<Theme>(readTheme());

export function chooseTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  try {
    if (theme === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    // Storage is blocked, so the choice lasts until the page is closed.
  }
  chosenTheme.set(theme);
}

/** Calls `then` whenever the colours change. Returns a function that unregisters `then`. */
export function onColours(then: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", then);
  const stop = chosenTheme.subscribe(then);
  return () => {
    system.removeEventListener("change", then);
    stop();
  };
}
