import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { failingCount } from "../failing-count";
import { useStore } from "../store";

/** Whether the next heading is the first since the browser loaded the dashboard. */
let isFirst = true;

/**
 * The heading of a page. The heading sets the window's title, which begins with the number of failing workspaces. It also
 * gets the focus, so that screen readers start here. When the first heading appears, the user may already have moved the
 * focus, e.g. to the link that skips to the page. Then the focus stays.
 */
export function PageHeading({
  title,
  shown = title,
  windowTitle = title,
  children,
}: {
  readonly title: string;
  /** The words of the heading, if some parts of the title are isolated from the others. */
  readonly shown?: ComponentChildren;
  /** The window's title, if it differs from the heading. */
  readonly windowTitle?: string;
  readonly children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const failing = useStore(failingCount);
  useEffect(() => {
    // A title such as "(!) Chess club" already says that something fails.
    const count = failing > 0 && !windowTitle.startsWith("(!) ") ? `(${failing}) ` : "";
    document.title = `${count}${windowTitle} · Chat bridge`;
  }, [windowTitle, failing]);
  // An effect that runs after the first paint could take the focus from a field that the user has already chosen.
  useLayoutEffect(() => {
    const hasUserMoved = isFirst && document.activeElement !== document.body;
    isFirst = false;
    if (!hasUserMoved) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div class="page-heading">
      <h1 ref={heading} tabIndex={-1}>
        {shown}
      </h1>
      {children}
    </div>
  );
}
