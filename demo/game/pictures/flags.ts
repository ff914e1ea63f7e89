import { encodePng } from "./png";

/** A colour as 0xRRGGBB. */
type Colour = number;

/** Returns the colour of a flag at a point; x and y are from 0 to 1. */
type Flag = (x: number, y: number) => Colour;

const WIDTH = 480;
const HEIGHT = 320;

const FLAGS = {
  japan: disc(0xffffff, 0xbc002d),
  italy: upright(0x008c45, 0xf4f5f0, 0xcd212a),
  estonia: level(0x0072ce, 0x000000, 0xffffff),
  belgium: upright(0x000000, 0xfdda24, 0xef3340),
  sweden: cross(0x006aa7, 0xfecc02),
  denmark: cross(0xc8102e, 0xffffff),
} satisfies Record<string, Flag>;

export type FlagName = keyof typeof FLAGS;

/** Draws a flag as a PNG; returns undefined for an unknown name. */
export function drawFlag(name: string): Buffer | undefined {
  if (!Object.hasOwn(FLAGS, name)) return undefined;
  const flag = FLAGS[name as FlagName];
  return encodePng(WIDTH, HEIGHT, (x, y) => flag((x + 0.5) / WIDTH, (y + 0.5) / HEIGHT));
}

function upright(left: Colour, middle: Colour, right: Colour): Flag {
  return (x) => (x < 1 / 3 ? left : x < 2 / 3 ? middle : right);
}

function level(top: Colour, middle: Colour, bottom: Colour): Flag {
  return (_x, y) => upright(top, middle, bottom)(y, 0);
}

function disc(field: Colour, sun: Colour): Flag {
  const aspect = WIDTH / HEIGHT;
  return (x, y) => (Math.hypot((x - 0.5) * aspect, y - 0.5) < 0.3 ? sun : field);
}

function cross(field: Colour, arms: Colour): Flag {
  return (x, y) => (Math.abs(x - 0.36) < 0.06 || Math.abs(y - 0.5) < 0.09 ? arms : field);
}
