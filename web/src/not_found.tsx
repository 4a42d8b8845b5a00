import { useApp } from "./app.ts";
import { Empty } from "./ui/states.tsx";
import { Page } from "./ui/page.tsx";

export default function NotFound() {
  const { router } = useApp();
  return (
    <Page title="Not found">
      <Empty icon="search" title="Page not found">
        <p>
          <code>{router.path.value}</code> is not a page of this app.
        </p>
        <a class="button" href="/">All sessions</a>
      </Empty>
    </Page>
  );
}
