import { Icon } from "./icon";

const HUES = 8;

/** A member's mark: the first letter of the name, on a colour derived from the id. */
export function Avatar({ id, name }: { readonly id: string; readonly name: string }) {
  const hue = [...id].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % HUES;
  const [letter = "?"] = name.trim();
  return (
    <span class={`avatar hue-${hue}`} aria-hidden="true">
      {letter.toUpperCase()}
    </span>
  );
}

export function ServiceMark() {
  return (
    <span class="service-mark" aria-hidden="true">
      <Icon name="bridge" />
    </span>
  );
}
