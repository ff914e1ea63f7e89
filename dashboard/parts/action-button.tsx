import type { ButtonHTMLAttributes, ComponentChildren } from "preact";

export interface ActionButtonProps extends Omit<ButtonHTMLAttributes, "children"> {
  readonly children: ComponentChildren;
  readonly look?: "primary" | "plain" | "danger" | "quiet";
  /** While true, the button ignores clicks, keeps the focus, and shows a spinner after a moment. */
  readonly pending?: boolean;
}

export function ActionButton({
  children,
  look = "plain",
  pending = false,
  type = "button",
  onClick,
  ...more
}: ActionButtonProps) {
  return (
    <button
      type={type}
      class={`button look-${look}`}
      aria-disabled={pending}
      aria-busy={pending}
      {...(pending ? { onClick: (event: Event) => event.preventDefault() } : { onClick })}
      {...more}
    >
      <span class="wheel" aria-hidden="true" />
      {children}
    </button>
  );
}
