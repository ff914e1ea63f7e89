import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** The heading of a page. It sets the window's title, and gets the focus, so that screen readers start here. */
export function PageHeading({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Chat bridge`;
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <div class="page-heading">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  );
}
