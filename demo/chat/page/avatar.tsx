import type { Member } from "../shapes";
import { Icon } from "./icon";

const HUES = 8;

/** A member's mark: the first letter of the name, on a colour derived from the id. */
export function Avatar({ id, name }: Member) {
  const sum = [...id].reduce((before, letter) => before + (letter.codePointAt(0) ?? 0), 0);
  const [letter = "?"] = name.trim();
  return (
    <span class={`avatar hue-${sum % HUES}`} aria-hidden="true">
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
