document.querySelector('button').addEventListener('click', () => {
  const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = (root.dataset.theme || (dark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
});
for (const svg of document.querySelectorAll('.chart svg')) {
  const series = JSON.parse(svg.dataset.points), tip = document.createElement('div'), figure = svg.parentElement;
  const cross = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  const lines = [...svg.querySelectorAll('polyline')].map(line =>
    [line.dataset.series, line.getAttribute('points').split(' ').map(point => +point.split(',')[0])]);
  tip.className = 'tip'; figure.append(tip);
  cross.setAttribute('class', 'cross'); cross.setAttribute('y1', 12); cross.setAttribute('y2', 220);
  svg.addEventListener('mousemove', event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * 480;
    let best = null;
    for (const [name, places] of lines) places.forEach((place, number) => {
      if (best === null || Math.abs(place - x) < Math.abs(best.place - x)) best = {place, at: series[name][number][0]}; });
    cross.setAttribute('x1', best.place); cross.setAttribute('x2', best.place); svg.append(cross);
    const rows = Object.entries(series).map(([name, points]) => [name, points.find(point => point[0] === best.at)]);
    tip.textContent = [svg.dataset.axis + ' ' + best.at,
      ...rows.filter(row => row[1]).map(([name, point]) => name + '  ' + point[1].toPrecision(5))].join('\n');
    tip.style.display = 'block';
    tip.style.left = Math.min(box.width - 110, best.place / 480 * box.width + 24) + 'px'; tip.style.top = '52px';
  });
  svg.addEventListener('mouseleave', () => { tip.style.display = 'none'; cross.remove(); });
}
