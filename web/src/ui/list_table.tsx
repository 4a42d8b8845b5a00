import type { ComponentChildren } from "preact";

/** What a column holds; one of numbers is drawn at the end of its cells. */
type Column = string | { number: string };

interface ListTableProps {
  class: string;
  /** What is listed, and in which order. */
  caption: string;
  columns: readonly Column[];
  /** The last column is of what can be done with a row. */
  actions?: boolean;
  /** The children are groups of rows, each a `tbody`. */
  groups?: boolean;
  /** The rows. */
  children: ComponentChildren;
}

/** A list of things, a row each. */
export function ListTable(
  { caption, columns, actions, groups, children, ...more }: ListTableProps,
) {
  return (
    <table class={`list-table ${more.class}`}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((it) =>
            typeof it === "string"
              ? <th key={it} scope="col">{it}</th>
              : <th key={it.number} scope="col" class="number">{it.number}</th>
          )}
          {actions && (
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      {groups ? children : <tbody>{children}</tbody>}
    </table>
  );
}
