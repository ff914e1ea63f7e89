import { createStore } from "./store";
import { createReleaseWatch } from "./words/compare-releases";

const SCRIPT = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src;
const BUILT = document.querySelector<HTMLMetaElement>('meta[name="built"]')?.content;

/** Whether the user should reload the page, because the server now serves another release of the pages. */
export const isOutdated = createStore(false);

const isOther = createReleaseWatch({
  script: SCRIPT === undefined ? "" : new URL(SCRIPT).pathname,
  builtAt: Number(BUILT ?? NaN),
});

/** Compares the page's release with the server's release, which the headers of each answer of the API name. */
export function noteRelease(headers: Headers): void {
  const script = headers.get("x-dashboard-script");
  if (script === null) return;
  const builtAt = Number(headers.get("x-dashboard-built") ?? NaN);
  if (isOther({ script, builtAt }, Date.now())) isOutdated.set(true);
}

// Vite fires this event when a part of the script cannot be loaded, e.g. because the server no longer serves this
// page's release.
addEventListener("vite:preloadError", () => isOutdated.set(true));
