import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { failingCount } from "../failing-count";
import { useStore } from "../store";

/** Whether no page heading has been shown since the browser loaded the dashboard. */
let isFirst = true;

/**
 * The heading of a page. The heading sets the window's title, which begins with the number of failing workspaces. The
 * heading also gets the focus, so that screen readers start reading here. When the first heading appears, the user may
 * already have moved the focus, e.g. to the link that skips to the page. In that case, the heading does not take the
 * focus.
 */
export function PageHeading({
  title,
  shown = title,
  windowTitle = title,
  children,
}: {
  readonly title: string;
  /** The content of the heading, if it differs from `title` in markup, e.g. because a name in it is isolated. */
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
