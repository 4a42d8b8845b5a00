/** Amounts of money as text. Must import nothing: the web app uses it. */

/** US dollars; amounts below a cent keep their figures. */
export function usd(amount: number): string {
  if (amount === 0) return "$0.00";
  return amount < 0.01 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(2)}`;
}

/** A cost; `unpriced` if it lacks calls of unknown price. */
interface Spent {
  cost_usd: number;
  unpriced?: true;
}

/** The known cost as text. */
export function costText({ cost_usd, unpriced }: Spent): string {
  if (unpriced === undefined) return usd(cost_usd);
  return cost_usd === 0 ? "price unknown" : `over ${usd(cost_usd)}`;
}
