import { testPages } from "./dashboard-pages";

jest.setTimeout(180_000);

testPages("light");
