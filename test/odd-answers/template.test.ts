import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { packedKit } from "../../kit/test/harness/kit-package";
import { buildTemplate } from "../../kit/test/harness/template";
import { startProgram } from "../harness/program";
import { until } from "../harness/wait";
import { expectedStops, expectedVerdicts, judge, judgeStops, type Running } from "./judge";
import { startOddService, type OddService, type OddWorkspace } from "./odd-service";
import { ODD_ANSWERS } from "./rows";

const kit = packedKit();
let folder: string;
let service: OddService;
beforeAll(async () => {
  folder = buildTemplate(kit.folder);
  service = await startOddService();
});
afterAll(() => service.close());

function startTemplate(baseUrl: string, { id, secret }: OddWorkspace): Running {
  const program = startProgram([process.execPath, "dist/main.js"], {
    cwd: folder,
    environment: {
      BASE_URL: baseUrl,
      WORKSPACE_ID: id,
      SIGNING_SECRET: secret,
      STATE_FOLDER: mkdtempSync(join(folder, "state-")),
    },
  });
  let hasExited = false;
  void program.exited.then(() => (hasExited = true));
  // The template reads typed lines only after it has received its first page.
  const isReading = () => hasExited || program.output().includes("connected:");
  const reading = until("the template reads lines, or has exited", isReading);
  return { ...program, send: (text) => void reading.then(() => program.type(`!${text}`)) };
}

// time: ordering
test("a copy of the template continues after every odd answer", async () => {
  const seen = await judge(service, ODD_ANSWERS, { start: startTemplate, lanes: 8 });
  expect(seen).toEqual(expectedVerdicts(ODD_ANSWERS));
});

test("a copy of the template exits when its first poll is refused, and prints the reason", async () => {
  const stops = ODD_ANSWERS.filter(({ poll }) => poll === "stop");
  expect(await judgeStops(service, stops, startTemplate)).toEqual(expectedStops(stops));
});
