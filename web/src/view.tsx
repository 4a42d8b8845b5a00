import { useEffect, useErrorBoundary } from "preact/hooks";
import { useApp } from "./app.ts";
import { explain } from "./rpc/api.ts";
import { matchPath, type RouteParams } from "./router.ts";
import { NOT_FOUND, type Route, ROUTES } from "./routes.tsx";
import { Failed, Loading } from "./ui/states.tsx";
import { useLoaded } from "./ui/use_loaded.ts";

/** The route of a path, and the parameters in it. */
export function routeOf(path: string): { route: Route; params: RouteParams } {
  for (const route of ROUTES) {
    const params = matchPath(route.path, path);
    if (params !== undefined) return { route, params };
  }
  return { route: NOT_FOUND, params: {} };
}

/** The view that the address means; another address of the same route is another view. */
export function View() {
  const path = useApp().router.path.value;
  const { route, params } = routeOf(path);
  return <Loaded key={path} route={route} params={params} />;
}

function Loaded({ route, params }: { route: Route; params: RouteParams }) {
  const app = useApp();
  const { Part: Body, failure } = useLoaded(route.load);
  // A daemon of another version has other files: the page itself must come anew.
  const gone = failure !== undefined && app.daemon.updated.value;
  useEffect(() => {
    if (gone) app.reload();
  }, [gone]);
  const [broken, reset] = useErrorBoundary((error) => console.error(error));
  if (broken !== undefined) return <Failed message={explain(broken)} onRetry={reset} />;
  if (failure !== undefined && !gone) {
    return <Failed message={explain(failure)} onRetry={() => app.reload()} />;
  }
  return Body ? <Body params={params} /> : <Loading />;
}
