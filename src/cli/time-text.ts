/** Points and lengths of time, for people. */

/** `Tue 1 Dec 14:05`, in this laptop's time zone. */
export function clockTime(time: string): string {
  const date = new Date(time)
  const part = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', options).format(date)
  const day = `${part({ weekday: 'short' })} ${part({ day: 'numeric' })} ${part({ month: 'short' })}`
  return `${day} ${part({ hour: '2-digit', minute: '2-digit', hour12: false })}`
}

/** `3 min`, `2 h`, `5 days`: the largest unit that is at least one. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min`
  if (whole < 2 * 86_400) return `${Math.floor(whole / 3600)} h`
  return `${Math.floor(whole / 86_400)} days`
}
