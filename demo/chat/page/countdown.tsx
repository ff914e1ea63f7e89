import { useNow } from "../../../dashboard/clock";

/** How long something goes on. Not read out: it would be every second. */
export function Countdown({ endsAt }: { readonly endsAt: string }) {
  const left = Math.ceil((Date.parse(endsAt) - useNow(250)) / 1000);
  return left > 0 ? (
    <span class={left <= 5 ? "countdown soon" : "countdown"} aria-hidden="true">
      {left} s
    </span>
  ) : null;
}
