import { useEffect } from "preact/hooks";
import { Announcer } from "./announce";
import { watchFailingCount } from "./failing-count";
import { ActionButton } from "./parts/action-button";
import { Icon } from "./parts/icon";
import { LimitedToken } from "./parts/limited-token";
import { Loading } from "./parts/loading";
import { NewRelease } from "./parts/new-release";
import { Notice } from "./parts/notice";
import { PageHeading } from "./parts/page-heading";
import { ThemeChoice } from "./parts/theme-choice";
import { TimeZoneChoice } from "./parts/time-zone-choice";
import { ConnectPage } from "./pages/connect-page";
import { EventPage } from "./pages/event-page";
import { SignInPage } from "./pages/sign-in-page";
import { WorkspacePage } from "./pages/workspace-page";
import { WorkspacesPage } from "./pages/workspaces-page";
import { Link, useHere } from "./router";
import { beginSession, sessionState, signOut, type SessionState } from "./session";
import { useStore } from "./store";
import { timesIn } from "./time-zone";
import { useAction } from "./use-action";
import { GUIDES } from "./words/guides";
import type { SessionShape } from "../proto/json/shapes";

export function App() {
  const state = useStore(sessionState);
  // When the user switches the time zone, all times in the page change, so the whole page is rendered again.
  useStore(timesIn);
  useEffect(() => void beginSession(), []);
  const isIn = state.is === "in";
  useEffect(() => (isIn ? watchFailingCount() : undefined), [isIn]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Masthead session={state.is === "in" ? state.session : undefined} />
      <main id="main" tabIndex={-1}>
        <Page state={state} />
      </main>
      <footer class="footer">
        <nav aria-label="Guides">
          <a href={GUIDES.api}>API reference</a>
          <a href={GUIDES.bridge}>Bridge guide</a>
          <a href={GUIDES.all}>All guides</a>
          {state.is === "in" && <span>Version {state.session.version}</span>}
        </nav>
        {state.is === "in" && <TimeZoneChoice />}
      </footer>
      <NewRelease />
      <Announcer />
    </>
  );
}

const WORKSPACE_PATH = /^\/workspaces\/([^/]+)(\/settings)?$/;

const EVENT_PATH = /^\/workspaces\/([^/]+)\/events\/([^/]+)$/;

function Page({ state }: { readonly state: SessionState }) {
  const { pathname } = useHere();
  const [, id, settings] = WORKSPACE_PATH.exec(pathname) ?? [];
  const [, of, eventId] = EVENT_PATH.exec(pathname) ?? [];
  if (id === undefined && of === undefined && pathname !== "/" && pathname !== "/connect") {
    return <NotFoundPage />;
  }
  if (state.is === "looking") {
    return state.why === undefined ? <Loading what="Signing in" /> : <WaitingPage why={state.why} />;
  }
  if (state.is === "out") return <SignInPage why={state.why} />;
  const { session } = state;
  if (id !== undefined) {
    const tab = settings === undefined ? "overview" : "settings";
    return <WorkspacePage key={id} id={id} tab={tab} publicUrl={session.publicUrl} />;
  }
  if (of !== undefined && eventId !== undefined) {
    return <EventPage key={pathname} id={decoded(of)} eventId={decoded(eventId)} />;
  }
  if (pathname === "/") return <WorkspacesPage />;
  if (session.workspaces === null) return <ConnectPage publicUrl={session.publicUrl} />;
  return (
    <>
      <PageHeading title="Connect a workspace" />
      <LimitedToken />
    </>
  );
}

/** Decodes a part of a path. A part that is not encoded correctly stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The page for an unknown address. It needs no sign-in, because it shows nothing about workspaces. */
function NotFoundPage() {
  return (
    <div class="narrow">
      <PageHeading title="Page not found" />
      <p>The dashboard has no page at this address.</p>
      <p>
        <Link href="/">All workspaces</Link>
      </p>
      <p>
        <a href={GUIDES.all}>All guides</a>
      </p>
    </div>
  );
}

/** The page that is shown while the service does not answer, so it is unknown whether the user is signed in. */
function WaitingPage({ why }: { readonly why: string }) {
  return (
    <div class="narrow">
      <PageHeading title="Not connected" />
      <Notice tone="warn">{why}</Notice>
    </div>
  );
}

function Masthead({ session }: { readonly session: SessionShape | undefined }) {
  const { pathname } = useHere();
  const leaving = useAction(signOut);
  const current = (path: string) => (pathname === path ? ({ "aria-current": "page" } as const) : {});
  return (
    <header class="masthead">
      <div class="masthead-inner">
        <Link href="/" class="brand" aria-label="Chat bridge">
          <Icon name="bridge" />
          <span>Chat bridge</span>
        </Link>
        {session !== undefined && (
          <nav aria-label="Pages">
            <Link href="/" {...current("/")}>
              Workspaces
            </Link>
            {session.workspaces === null && (
              <Link href="/connect" {...current("/connect")}>
                Connect
              </Link>
            )}
          </nav>
        )}
        {session !== undefined && (
          <span class="token-name" title={`You are signed in with the token ${session.tokenName}`}>
            <span class="unseen">Token: </span>
            {session.tokenName}
          </span>
        )}
        <ThemeChoice />
        {session !== undefined && (
          <ActionButton
            look="quiet"
            pending={leaving.pending}
            onClick={() => leaving.run()}
            aria-label="Sign out"
          >
            <Icon name="leave" />
            <span class="wide-only">Sign out</span>
          </ActionButton>
        )}
      </div>
    </header>
  );
}
