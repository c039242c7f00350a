from .card import render_card as render_card
from .render import render_report as render_report
