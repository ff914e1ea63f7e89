import type { Member } from "../shapes";
import type { GameData } from "./game-data";

/** The member's points so far, and the points of the best player. Shows nothing if the member has no points. */
export function OwnScore({ data, me }: { readonly data: GameData; readonly me: Member }) {
  const mine = data.board.find(({ user }) => user === me.id);
  const [best] = data.board;
  if (mine === undefined || best === undefined || mine.points === 0) return null;
  const leads = best.points === mine.points ? "nobody has more" : `the best player has ${best.points}`;
  return (
    <span class="own-score">
      You have {mine.points} points; {leads}.
    </span>
  );
}
