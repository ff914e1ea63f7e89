import { useNow } from "../../../dashboard/clock";

/** Seconds until `endsAt`. Hidden from screen readers, which would read it out every second. */
export function Countdown({ endsAt }: { readonly endsAt: string }) {
  const left = Math.ceil((Date.parse(endsAt) - useNow(250)) / 1000);
  return left > 0 ? (
    <span class={left <= 5 ? "countdown soon" : "countdown"} aria-hidden="true">
      {left} s
    </span>
  ) : null;
}
