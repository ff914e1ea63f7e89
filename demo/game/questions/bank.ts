import type { FlagName } from "../pictures/flags";

/** A multiple-choice question. The first option is the right one; the options are shuffled for each game. */
export interface ChoiceEntry {
  readonly text: string;
  readonly options: readonly [right: string, ...wrong: string[]];
  readonly flag?: FlagName;
  /** Title of the article in the English Wikipedia with more about it. */
  readonly article: string;
}

/** A question whose answer is a number; the closest guess wins. */
export interface NumberEntry {
  readonly text: string;
  readonly right: number;
  readonly unit: string;
  readonly article: string;
}

const WHICH_FLAG = "Which country has this flag?";

export const CHOICES: readonly ChoiceEntry[] = [
  {
    text: "Which planet goes round the Sun fastest?",
    options: ["Mercury", "Venus", "Mars", "Jupiter"],
    article: "Mercury_(planet)",
  },
  {
    text: "Which gas makes up most of the air that we breathe?",
    options: ["Nitrogen", "Oxygen", "Carbon dioxide", "Argon"],
    article: "Atmosphere_of_Earth",
  },
  {
    text: "How many hearts does an octopus have?",
    options: ["Three", "One", "Two", "Eight"],
    article: "Octopus",
  },
  {
    text: "Which metal is liquid at room temperature?",
    options: ["Mercury", "Lead", "Tin", "Zinc"],
    article: "Mercury_(element)",
  },
  {
    text: "Which element has the symbol Na?",
    options: ["Sodium", "Nickel", "Neon", "Nitrogen"],
    article: "Sodium",
  },
  {
    text: "What does a lepidopterist study?",
    options: ["Butterflies and moths", "Leaves", "Leopards", "Ancient coins"],
    article: "Lepidoptera",
  },
  {
    text: "Which animal is the largest that has ever lived, as far as we know?",
    options: ["The blue whale", "The African elephant", "The whale shark", "The giant squid"],
    article: "Blue_whale",
  },
  {
    text: "Which bird lays the largest egg?",
    options: ["The ostrich", "The emu", "The albatross", "The swan"],
    article: "Ostrich",
  },
  {
    text: "Which is the smallest prime number?",
    options: ["2", "0", "1", "3"],
    article: "Prime_number",
  },
  {
    text: "What is 2 ** 10 | 1 in most programming languages that have both operators?",
    options: ["1025", "1024", "21", "1023"],
    article: "Bitwise_operation",
  },
  {
    text: "In which language is ~ the operator that flips every bit of an integer?",
    options: ["C", "HTML", "CSS", "Markdown"],
    article: "Bitwise_operation",
  },
  {
    text: "What does the *.txt in a shell command stand for?",
    options: ["Every name that ends in .txt", "A file named *.txt", "The first text file", "A hidden folder"],
    article: "Glob_(programming)",
  },
  {
    text: "Which ocean is the largest?",
    options: ["The Pacific", "The Atlantic", "The Indian Ocean", "The Arctic"],
    article: "Pacific_Ocean",
  },
  {
    text: "Which is the capital of Australia?",
    options: ["Canberra", "Sydney", "Melbourne", "Perth"],
    article: "Canberra",
  },
  {
    text: "Which is the capital of Canada?",
    options: ["Ottawa", "Toronto", "Montreal", "Vancouver"],
    article: "Ottawa",
  },
  {
    text: "Through which of these cities does the Danube flow?",
    options: ["Budapest", "Prague", "Warsaw", "Munich"],
    article: "Danube",
  },
  {
    text: "Which of these countries has no coast?",
    options: ["Paraguay", "Uruguay", "Ecuador", "Chile"],
    article: "Paraguay",
  },
  {
    text: "Who painted the Mona Lisa?",
    options: ["Leonardo da Vinci", "Michelangelo", "Raphael", "Titian"],
    article: "Mona_Lisa",
  },
  {
    text: "Who wrote “Frankenstein”?",
    options: ["Mary Shelley", "Bram Stoker", "Jane Austen", "Edgar Allan Poe"],
    article: "Frankenstein",
  },
  {
    text: "In which play does the ghost of a king walk the walls of Elsinore?",
    options: ["Hamlet", "Macbeth", "King Lear", "Othello"],
    article: "Hamlet",
  },
  {
    text: "How many strings does a violin have?",
    options: ["Four", "Three", "Five", "Six"],
    article: "Violin",
  },
  {
    text: "Which instrument has both pedals and 47 strings?",
    options: ["The concert harp", "The piano", "The organ", "The double bass"],
    article: "Pedal_harp",
  },
  {
    text: "Which of these is baked from choux pastry?",
    options: ["An éclair", "A croissant", "A baklava", "A strudel"],
    article: "Choux_pastry",
  },
  {
    text: "From which plant does saffron come?",
    options: ["A crocus", "A tulip", "A poppy", "A rose"],
    article: "Saffron",
  },
  {
    text: "Which piece may jump over others in chess?",
    options: ["The knight", "The bishop", "The rook", "The queen"],
    article: "Knight_(chess)",
  },
  {
    text: "How many players of one team are on the court in basketball?",
    options: ["Five", "Four", "Six", "Seven"],
    article: "Basketball",
  },
  {
    text: WHICH_FLAG,
    options: ["Japan", "South Korea", "Bangladesh", "Laos"],
    flag: "japan",
    article: "Flag_of_Japan",
  },
  {
    text: WHICH_FLAG,
    options: ["Italy", "Ireland", "Mexico", "Hungary"],
    flag: "italy",
    article: "Flag_of_Italy",
  },
  {
    text: WHICH_FLAG,
    options: ["Estonia", "Finland", "Latvia", "Botswana"],
    flag: "estonia",
    article: "Flag_of_Estonia",
  },
  {
    text: WHICH_FLAG,
    options: ["Belgium", "Germany", "Romania", "Chad"],
    flag: "belgium",
    article: "Flag_of_Belgium",
  },
  {
    text: WHICH_FLAG,
    options: ["Sweden", "Finland", "Denmark", "Ukraine"],
    flag: "sweden",
    article: "Flag_of_Sweden",
  },
  {
    text: WHICH_FLAG,
    options: ["Denmark", "Switzerland", "Norway", "Georgia"],
    flag: "denmark",
    article: "Flag_of_Denmark",
  },
];

export const NUMBERS: readonly NumberEntry[] = [
  { text: "How high is Mount Everest?", right: 8849, unit: "metres", article: "Mount_Everest" },
  {
    text: "In which year did people first walk on the Moon?",
    right: 1969,
    unit: "",
    article: "Apollo_11",
  },
  { text: "How many bones does an adult human have?", right: 206, unit: "bones", article: "Bone" },
  { text: "How many keys does a standard piano have?", right: 88, unit: "keys", article: "Piano" },
  {
    text: "How far is it from the Earth to the Moon, on average?",
    right: 384_400,
    unit: "kilometres",
    article: "Lunar_distance",
  },
  {
    text: "In which year was the Eiffel Tower finished?",
    right: 1889,
    unit: "",
    article: "Eiffel_Tower",
  },
  {
    text: "How long is a marathon?",
    right: 42.195,
    unit: "kilometres",
    article: "Marathon",
  },
  {
    text: "How many squares of all sizes are there on a chessboard?",
    right: 204,
    unit: "squares",
    article: "Square_pyramidal_number",
  },
];
