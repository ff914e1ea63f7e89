import type { AnchorHTMLAttributes } from "preact";
import { createStore, useStore } from "./store";

const here = createStore(readHere());

function readHere(): string {
  return location.pathname + location.search;
}

addEventListener("popstate", () => here.set(readHere()));

/** The URL of the current page. */
export function useHere(): URL {
  return new URL(useStore(here), location.origin);
}

export function navigate(path: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  here.set(readHere());
  if (!replace) scrollTo(0, 0);
}

/**
 * A link within the dashboard. A plain click navigates without a reload. The browser handles all other clicks, e.g. a
 * click with Ctrl.
 */
export function Link({ href, ...more }: AnchorHTMLAttributes & { readonly href: string }) {
  return (
    <a
      href={href}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        navigate(href);
      }}
      {...more}
    />
  );
}
