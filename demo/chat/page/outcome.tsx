import type { Member } from "../shapes";
import { letterOf, type GameData, type Result } from "./game-data";
import { Icon } from "./marks";

/** The number format of the game's own texts: numbers below 10,000 have no separators, because they can be years. */
const NUMBER = new Intl.NumberFormat("en", { useGrouping: "min2", maximumFractionDigits: 6 });

/** Shows the member's answer to a question, and its result, in one line. */
export function Outcome({ data, me }: { readonly data: GameData; readonly me: Member }) {
  const mine = data.results.find(({ user }) => user === me.id);
  if (mine === undefined) return <p class="outcome">You did not answer.</p>;
  const isRight = mine.points > 0;
  return (
    <p class={isRight ? "outcome right" : "outcome"}>
      <Icon name={isRight ? "check" : "close"} />
      <span>
        You: <strong>{answerOf(mine, data)}</strong> · {verdictOn(mine, data)}
      </span>
    </p>
  );
}

function answerOf({ answer }: Result, { options, unit }: GameData): string {
  if (options !== undefined) return `${letterOf(answer)} · ${options[answer] ?? ""}`;
  return `${NUMBER.format(answer)} ${unit ?? ""}`.trim();
}

function verdictOn({ points }: Result, { options, right = 0 }: GameData): string {
  const gain = points > 0 ? `+${points} points` : "no points";
  if (options !== undefined) return `${points > 0 ? "right" : "wrong"}, ${gain}`;
  return `right: ${NUMBER.format(right)}, ${gain}`;
}

/**
 * The options of a question that has ended, in the places where their buttons were. The right option and the member's
 * choice are marked.
 */
export function Options({ data, me }: { readonly data: GameData; readonly me: Member }) {
  const mine = data.results.find(({ user }) => user === me.id);
  return (
    <ul class="options" aria-label="Options">
      {data.options?.map((option, i) => {
        const isRight = i === data.right;
        const isMine = i === mine?.answer;
        return (
          <li key={i} class={isRight ? "option right" : isMine ? "option mine" : "option"}>
            {isRight ? <Icon name="check" /> : isMine ? <Icon name="close" /> : null}
            <span>
              {letterOf(i)} · {option}
            </span>
            {isRight && <span class="unseen"> (right answer)</span>}
            {isMine && <span class="tag">you</span>}
          </li>
        );
      })}
    </ul>
  );
}
