from .render import render_report as render_report
